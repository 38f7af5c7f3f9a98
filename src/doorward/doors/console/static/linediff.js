// The difference between two texts, line by line, in the form that `Diff` shows.

const MOST = 4_000_000;

/** Lines with "+", "-" or " " in front; equal texts give an empty one. */
export function lineDiff(before, after, around = 3) {
  if (before === after) return "";
  const olds = before.split("\n");
  const news = after.split("\n");
  let head = 0;
  while (head < olds.length && head < news.length && olds[head] === news[head]) head += 1;
  let tail = 0;
  while (tail < olds.length - head && tail < news.length - head && olds.at(-1 - tail) === news.at(-1 - tail)) tail += 1;
  const middle = changed(olds.slice(head, olds.length - tail), news.slice(head, news.length - tail));
  const lead = olds.slice(Math.max(0, head - around), head).map((line) => ` ${line}`);
  const rest = tail ? olds.slice(olds.length - tail, olds.length - tail + around).map((line) => ` ${line}`) : [];
  return [...lead, ...middle, ...rest].join("\n");
}

function changed(olds, news) {
  const removed = olds.map((line) => `-${line}`);
  const added = news.map((line) => `+${line}`);
  if (olds.length * news.length > MOST || !olds.length || !news.length) return [...removed, ...added];
  const width = news.length + 1;
  const common = new Uint32Array((olds.length + 1) * width);
  for (let i = olds.length - 1; i >= 0; i -= 1)
    for (let j = news.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        olds[i] === news[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  const found = [];
  let [i, j] = [0, 0];
  while (i < olds.length || j < news.length) {
    if (i < olds.length && j < news.length && olds[i] === news[j]) {
      found.push(` ${olds[i]}`);
      i += 1;
      j += 1;
    } else if (i < olds.length && (j === news.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      found.push(removed[i]);
      i += 1;
    } else {
      found.push(added[j]);
      j += 1;
    }
  }
  return found;
}
