// Types of the parts of preact.js that the console uses. Written for Doorward; it is not part of the vendored file.

export type VNode = object;
export type Child = VNode | string | number | boolean | null | undefined | Child[];
export type Ref<T> = { current: T };
export type Update<S> = (next: S | ((before: S) => S)) => void;

/** What a template may hold. A function is a component, an event handler or a render function. */
type TemplateValue = ((...given: any[]) => any) | object | string | number | boolean | null | undefined;

export function html(strings: TemplateStringsArray, ...values: TemplateValue[]): VNode;
export function render(node: VNode, parent: Element): void;

export function useState<S>(initial: S | (() => S)): [S, Update<S>];
export function useReducer<S, A>(reducer: (state: S, action: A) => S, initial: S): [S, (action?: A) => void];
export function useEffect(effect: () => void | (() => void), depends?: unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), depends?: unknown[]): void;
/** A reference to an element is filled in before effects run, so its type does not include null. */
export function useRef<T>(initial: null): Ref<T>;
export function useRef<T>(initial: T): Ref<T>;
export function useMemo<T>(create: () => T, depends: unknown[]): T;
export function useCallback<F extends (...given: any[]) => any>(fn: F, depends: unknown[]): F;
export function useErrorBoundary(onError?: (error: any) => void): [any, () => void];
