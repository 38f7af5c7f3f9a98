// @ts-check
// What a person chooses of a draft's difference. Everything is chosen at the start, so only what is left is kept.

import { formatCount, formatNumber } from "./format.js";

/**
 * What stays in the draft, by path: the whole file (true), or the numbers of its hunks. A Map, because names of files come
 * from outside and may be those of an object's own properties.
 *
 * @typedef {Map<string, true | number[]>} Left
 */

/** How much of a file is chosen. @param {DraftFile} file @param {Left} left @returns {"all" | "some" | "none"} */
export function readState(file, left) {
  const found = left.get(file.path);
  if (!found) return "all";
  return found === true ? "none" : "some";
}

/** @param {DraftFile} file @param {number} number @param {Left} left */
export function isHunkChosen(file, number, left) {
  const found = left.get(file.path);
  return found !== true && !found?.includes(number);
}

/** Choose a whole file, or leave it. @param {Left} left @param {DraftFile} file @param {boolean} chosen @returns {Left} */
export function chooseFile(left, file, chosen) {
  const next = new Map(left);
  if (chosen) next.delete(file.path);
  else next.set(file.path, true);
  return next;
}

/** Choose a hunk, or leave it. @param {Left} left @param {DraftFile} file @param {number} number @param {boolean} chosen @returns {Left} */
export function chooseHunk(left, file, number, chosen) {
  const all = Array.from({ length: file.hunks }, (_, at) => at + 1);
  const rest = all.filter((one) => (one === number ? !chosen : !isHunkChosen(file, one, left)));
  const next = new Map(left);
  if (!rest.length) next.delete(file.path);
  else next.set(file.path, rest.length === all.length ? true : rest);
  return next;
}

/** @param {DraftReviewFacts} review @param {Left} left */
export function countChoice(review, left) {
  const counts = { files: 0, allFiles: review.files.length + review.conflicts.length + review.moreFiles, hunks: 0, allHunks: 0 };
  for (const file of review.files) {
    const found = left.get(file.path);
    counts.allHunks += file.hunks;
    if (found === true) continue;
    counts.files += 1;
    counts.hunks += file.hunks - (found?.length ?? 0);
  }
  return counts;
}

/** Whether all of the draft is chosen, so that it is merged as a whole. @param {DraftReviewFacts} review @param {Left} left */
export const isWhole = (review, left) => !left.size && !review.conflicts.length && !review.moreFiles;

/** The label of the button that merges what is chosen. @param {DraftReviewFacts} review @param {Left} left */
export function describeAction(review, left) {
  const { files, allFiles, hunks, allHunks } = countChoice(review, left);
  if (isWhole(review, left)) return "Merge all";
  if (!files) return "Merge nothing";
  if (files === allFiles) return `Merge ${formatNumber(hunks)} of ${formatCount(allHunks, "hunk")}`;
  return `Merge ${formatNumber(files)} of ${formatCount(allFiles, "file")}`;
}

/** What will happen, as a sentence. @param {DraftReviewFacts} review @param {Left} left */
export function describeChoice(review, left) {
  const { files, allFiles, hunks, allHunks } = countChoice(review, left);
  const git = review.git.files > 0;
  if (!allFiles) return git ? "Merge the changes of git’s own files." : "The draft changes no file.";
  if (isWhole(review, left)) return `Merge ${allFiles === 1 ? "the file" : `all ${formatCount(allFiles, "file")}`}${git ? " and the commits" : ""}.`;
  if (!files) return "Nothing is chosen. Everything stays in the draft.";
  const inHunks = hunks < allHunks ? ` (${formatNumber(hunks)} of ${formatCount(allHunks, "hunk")})` : "";
  const commits = git ? " The commits stay too, because they contain every change." : "";
  return `Merge ${formatNumber(files)} of ${formatCount(allFiles, "file")}${inHunks}; the rest stays in the draft.${commits}`;
}

/**
 * The parameters of draft/merge for what is chosen; none for the whole.
 *
 * @param {DraftReviewFacts} review
 * @param {Left} left
 * @returns {{paths?: string[], hunks?: Record<string, number[]>}}
 */
export function toMergeParams(review, left) {
  if (isWhole(review, left)) return {};
  const paths = review.files.filter((file) => readState(file, left) === "all").map((file) => file.path);
  const parts = review.files.filter((file) => readState(file, left) === "some");
  const numbers = (/** @type {DraftFile} */ file) =>
    Array.from({ length: file.hunks }, (_, at) => at + 1).filter((one) => isHunkChosen(file, one, left));
  return { paths, hunks: Object.fromEntries(parts.map((file) => [file.path, numbers(file)])) };
}
