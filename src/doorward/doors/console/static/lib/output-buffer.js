// @ts-check
// Output of a program, as a page holds it: the newest part, in blocks. A program can write more than a page can show, so
// old blocks are dropped and counted.

import { applySequence, PLAIN, splitIncomplete, splitSequences } from "./ansi.js";

const BLOCK = 4_000;

/** @type {OutputBuffer} */
export const EMPTY_OUTPUT = { blocks: [], streams: {}, dropped: 0, length: 0, next: 0 };

/**
 * Append output. A full block never changes again. No block splits an escape sequence, and each knows the style in which
 * it starts.
 *
 * @param {OutputBuffer} buffer
 * @param {string} stream stdout, stderr, or output for both
 * @param {string} text
 * @param {number} [limit] number of characters to hold
 * @returns {OutputBuffer}
 */
export function appendOutput(buffer, stream, text, limit = 200_000) {
  const blocks = [...buffer.blocks];
  let { dropped, next } = buffer;
  const length = buffer.length + text.length;
  const before = buffer.streams[stream] ?? { style: PLAIN, rest: "" };
  let { style } = before;
  const [whole, rest] = splitIncomplete(before.rest + text);
  for (const part of splitSequences(whole)) {
    let left = part.text;
    while (left) {
      const last = blocks.at(-1);
      const open = last !== undefined && last.stream === stream && last.text.length < BLOCK ? last : null;
      const taken = part.escape ? left : takeWhole(left, open ? BLOCK - open.text.length : BLOCK);
      if (open) blocks[blocks.length - 1] = { ...open, text: open.text + taken };
      else blocks.push({ id: next++, stream, style, text: taken });
      left = left.slice(taken.length);
    }
    if (part.escape) style = applySequence(style, part.text);
  }
  while (length - dropped > limit && blocks.length > 1) dropped += blocks.shift()?.text.length ?? 0;
  return { blocks, streams: { ...buffer.streams, [stream]: { style, rest } }, dropped, length, next };
}

/** Take about `length` characters without splitting a surrogate pair or a line end. @param {string} text @param {number} length */
function takeWhole(text, length) {
  if (length >= text.length) return text;
  const code = text.charCodeAt(length - 1);
  const splits = (code >= 0xd800 && code < 0xdc00) || text.startsWith("\r\n", length - 1);
  return text.slice(0, splits ? length + 1 : length);
}
