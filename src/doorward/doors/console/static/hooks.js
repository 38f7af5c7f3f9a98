// What components remember and do beside showing something.

import { connected } from "./live.js";
import { useCallback, useEffect, useReducer, useRef, useState } from "./vendor/preact.js";

/** The value of a signal, kept up to date. */
export function useSignal(one) {
  const [value, set] = useState(one.value);
  useEffect(() => {
    set(one.value);
    return one.subscribe(set);
  }, [one]);
  return value;
}

export const useConnected = () => useSignal(connected);

/** Load something and say how it went: `{data, problem, loading, reload, setData}`. A newer load replaces an older. */
export function useLoad(load, depends = []) {
  const [state, set] = useState({ data: null, problem: null, loading: true });
  const turn = useRef(0);
  const reload = useCallback(async () => {
    const mine = ++turn.current;
    set((before) => ({ ...before, loading: true }));
    try {
      const data = await load();
      if (mine === turn.current) set({ data, problem: null, loading: false });
    } catch (problem) {
      if (mine === turn.current) set((before) => ({ ...before, problem, loading: false }));
    }
  }, depends);
  useEffect(() => {
    set({ data: null, problem: null, loading: true });
    reload();
    return () => {
      turn.current += 1;
    };
  }, [reload]);
  const setData = (next) =>
    set((before) => ({ ...before, data: typeof next === "function" ? next(before.data) : next }));
  return { ...state, reload, setData };
}

/** Render anew every so many milliseconds while `on`, for countdowns and ages. */
export function useTick(milliseconds, on = true) {
  const [, tick] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(tick, milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds, on]);
}

let last = 0;

/** Whether something was said since a moment, in milliseconds since 1970. */
export const saidSince = (moment) => last >= moment;

/** Say something to a screen reader, and nothing to the eye. */
export function say(text, urgent = false) {
  last = Date.now();
  const place = document.getElementById(urgent ? "said-now" : "said");
  if (!place) return;
  place.textContent = "";
  setTimeout(() => {
    place.textContent = text;
  }, 50);
}

/** Say something shortly at the bottom of the page, to everybody. */
export function toast(text) {
  last = Date.now();
  const place = document.getElementById("toasts");
  if (!place) return;
  const note = document.createElement("p");
  note.className = "toast";
  note.textContent = text;
  place.append(note);
  setTimeout(() => note.remove(), 6000);
}
