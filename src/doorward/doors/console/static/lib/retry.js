// @ts-check
// Failures that pass by themselves: which ones they are, and when to try again.

import { Problem } from "./api.js";

const DELAYS = [1000, 2000, 4000, 8000, 15_000];

/** Whether another try may succeed: the server was down, busy or broken. @param {any} problem */
export const isTemporary = (problem) =>
  !(problem instanceof Problem) || problem.status === 0 || problem.status === 429 || problem.status >= 500;

/** How many milliseconds to wait before the next try. @param {any} problem @param {number} tries the number of tries before */
export const retryDelay = (problem, tries) =>
  Math.max(DELAYS[Math.min(tries, DELAYS.length - 1)], (problem.retryAfter ?? 0) * 1000);
