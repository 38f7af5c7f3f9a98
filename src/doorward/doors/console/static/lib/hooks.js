// @ts-check
// Hooks that several components use.

import { useCallback, useEffect, useReducer, useRef, useState } from "../vendor/preact.js";
import { connection, onEvent, onMissed } from "./live.js";
import { isTemporary, retryDelay } from "./retry.js";

/**
 * The value of a signal, kept up to date.
 *
 * @template T
 * @param {Signal<T>} signal
 */
export function useSignal(signal) {
  const [value, set] = useState(signal.value);
  useEffect(() => {
    set(signal.value);
    return signal.subscribe(set);
  }, [signal]);
  return value;
}

export const useConnection = () => useSignal(connection);

/**
 * Load data. `load` returns the data, or a function that makes it from the data before. A later load supersedes an
 * earlier one and aborts its signal; a change of `depends` starts over without data. A load that failed for the moment is
 * tried again after a while, and when the connection is back.
 *
 * @template [T=any]
 * @param {(signal: AbortSignal) => Promise<T | ((before: T | null) => T)>} load
 * @param {unknown[]} [depends]
 * @returns {Loadable<T>}
 */
export function useLoad(load, depends = []) {
  /** @type {Pick<Loadable<T>, "data" | "problem" | "loading">} */
  const empty = { data: null, problem: null, loading: true };
  const [state, set] = useState(empty);
  const latest = useRef(load);
  latest.current = load;
  const turn = useRef(new AbortController());
  const retry = useRef({ timer: 0, tries: 0 });
  const stop = () => {
    turn.current.abort();
    clearTimeout(retry.current.timer);
    retry.current.timer = 0;
  };
  const reload = useCallback(async () => {
    stop();
    const mine = new AbortController();
    turn.current = mine;
    set((before) => ({ ...before, loading: true }));
    try {
      const data = await latest.current(mine.signal);
      if (mine.signal.aborted) return;
      retry.current.tries = 0;
      set((before) => ({ data: resolve(data, before.data), problem: null, loading: false }));
    } catch (problem) {
      if (mine.signal.aborted) return;
      const retrying = isTemporary(problem);
      set((before) => ({ ...before, problem: Object.assign(problem, { retrying }), loading: false }));
      if (retrying) retry.current.timer = setTimeout(reload, retryDelay(problem, retry.current.tries++));
    }
  }, depends);
  useEffect(() => {
    set(empty);
    reload();
    const unsubscribe = connection.subscribe((now) => now === "live" && retry.current.timer && reload());
    return () => {
      unsubscribe();
      stop();
    };
  }, [reload]);
  /** @type {Loadable<T>["setData"]} */
  const setData = (next) => set((before) => ({ ...before, data: resolve(next, before.data) }));
  return { ...state, reload, setData };
}

const resolve = (/** @type {any} */ next, /** @type {any} */ before) => (typeof next === "function" ? next(before) : next);

/**
 * Load again when `depends` change, after `delay` milliseconds. Until then the data before stays.
 *
 * @param {() => void} reload
 * @param {unknown[]} depends
 * @param {number} [delay]
 */
export function useReload(reload, depends, delay = 0) {
  const first = useRef(true);
  useEffect(() => {
    const isFirst = first.current;
    first.current = false;
    if (isFirst) return undefined;
    const timer = setTimeout(reload, delay);
    return () => clearTimeout(timer);
  }, depends);
}

const DEBOUNCE = 150;

/**
 * Load data as `useLoad` does, and load it again when something happens: on an event that `events` names, and when events
 * were missed. Several events within a moment cause one load.
 *
 * `events` maps the prefix of an event's name to true, or to a function that handles the event and returns whether to
 * load again.
 *
 * @template [T=any]
 * @param {(signal: AbortSignal) => Promise<T | ((before: T | null) => T)>} load
 * @param {Record<string, true | ((event: ServerEvent) => boolean)>} events
 * @param {unknown[]} [depends]
 * @returns {Loadable<T>}
 */
export function useLive(load, events, depends = []) {
  const loaded = useLoad(load, depends);
  const latest = useRef(events);
  latest.current = events;
  useEffect(() => {
    let timer = 0;
    const reloadSoon = () => {
      clearTimeout(timer);
      timer = setTimeout(loaded.reload, DEBOUNCE);
    };
    const unsubscribe = Object.keys(events).map((prefix) =>
      onEvent(prefix, (event) => {
        const wanted = latest.current[prefix];
        if (wanted === true || wanted?.(event)) reloadSoon();
      }),
    );
    unsubscribe.push(onMissed(reloadSoon));
    return () => {
      clearTimeout(timer);
      unsubscribe.forEach((one) => one());
    };
  }, [loaded.reload]);
  return loaded;
}

/** Render every so many milliseconds while `on`, for countdowns and ages. @param {number} interval @param {boolean} [on] */
export function useTick(interval, on = true) {
  const [, tick] = useReducer((/** @type {number} */ count) => count + 1, 0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(tick, interval);
    return () => clearInterval(timer);
  }, [interval, on]);
}
