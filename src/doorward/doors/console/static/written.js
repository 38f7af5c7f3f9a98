// What a program writes, as a page holds it: the newest part, in blocks, and how much came before. A program can write
// more than a page can show, so what is old is let go, and the page says where all of it is.

const BLOCK = 4_000;

export const NOTHING = { blocks: [], dropped: 0, length: 0, next: 0 };

/** The same with what came on a stream (stdout, stderr, or both as `output`). A block that is full never changes again. */
export function withMore(written, stream, text, most = 200_000) {
  const blocks = [...written.blocks];
  let { dropped, next } = written;
  const length = written.length + text.length;
  let rest = text;
  while (rest) {
    const last = blocks.at(-1);
    const goesOn = last !== undefined && last.stream === stream && last.text.length < BLOCK;
    const taken = whole(rest, goesOn ? BLOCK - last.text.length : BLOCK);
    if (goesOn) blocks[blocks.length - 1] = { ...last, text: last.text + taken };
    else blocks.push({ id: next++, stream, text: taken });
    rest = rest.slice(taken.length);
  }
  while (length - dropped > most && blocks.length > 1) dropped += blocks.shift().text.length;
  return { blocks, dropped, length, next };
}

/** At least one character, at most so many, and no half of a pair. */
function whole(text, most) {
  if (most >= text.length) return text;
  const code = text.charCodeAt(most - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? most + 1 : most);
}
