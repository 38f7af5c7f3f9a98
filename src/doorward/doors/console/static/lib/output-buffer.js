// @ts-check
// Output of a program, as a page holds it: the newest part, in blocks. A program can write more than a page can show, so
// old blocks are dropped and counted.

const BLOCK = 4_000;

/** @type {OutputBuffer} */
export const EMPTY_OUTPUT = { blocks: [], dropped: 0, length: 0, next: 0 };

/**
 * Append output. A full block never changes again.
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
  let rest = text;
  while (rest) {
    const last = blocks.at(-1);
    const open = last !== undefined && last.stream === stream && last.text.length < BLOCK ? last : null;
    const taken = takeWhole(rest, open ? BLOCK - open.text.length : BLOCK);
    if (open) blocks[blocks.length - 1] = { ...open, text: open.text + taken };
    else blocks.push({ id: next++, stream, text: taken });
    rest = rest.slice(taken.length);
  }
  while (length - dropped > limit && blocks.length > 1) dropped += blocks.shift()?.text.length ?? 0;
  return { blocks, dropped, length, next };
}

/** Take about `length` characters without splitting a surrogate pair. @param {string} text @param {number} length */
function takeWhole(text, length) {
  if (length >= text.length) return text;
  const code = text.charCodeAt(length - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? length + 1 : length);
}
