// The marks within a line of text, found in one walk along it. Anybody can write to everybody's page, so no text may take
// longer than its length: where a mark would close is looked up, never searched for again and again.

const ADDRESS = /https?:\/\/[^\s<>"'`]{1,2000}/y;
const TARGET = /\]\((https?:\/\/[^\s()<>]{1,2000})\)/y;
const LONGEST_LABEL = 500;

const blank = (char) => char === undefined || /\s/.test(char);
const word = (char) => char !== undefined && /\w/.test(char);

/** A line as parts: strings, and `{code}`, `{bold}`, `{soft}`, `{link, label}`. What is bold or soft has marks of its own. */
export function marks(text) {
  const ticks = runs(text);
  const bolds = closings(text);
  const parts = [];
  let from = 0;
  let at = 0;
  const take = (part, end) => {
    if (at > from) parts.push(text.slice(from, at));
    parts.push(part);
    from = at = end;
  };
  while (at < text.length) {
    const char = text[at];
    if (char === "`") {
      const length = run(text, at);
      const end = ticks(length, at + length);
      if (end > 0) take({ code: text.slice(at + length, end) }, end + length);
      else at += length;
    } else if (char === "*" && text[at + 1] === "*") {
      const end = blank(text[at + 2]) ? -1 : bolds(at + 3);
      if (end > 0) take({ bold: text.slice(at + 2, end) }, end + 2);
      else at += 2;
    } else if (char === "*" || char === "_") {
      const end = soft(text, at, char);
      if (end > 0) take({ soft: text.slice(at + 1, end) }, end + 1);
      else at += 1;
    } else if (char === "[") {
      const length = text.slice(at + 1, at + 2 + LONGEST_LABEL).indexOf("]");
      const target = length > 0 && found(TARGET, text, at + 1 + length);
      if (target) take({ link: target[1], label: text.slice(at + 1, at + 1 + length) }, at + 1 + length + target[0].length);
      else at += 1;
    } else if (char === "h") {
      const address = found(ADDRESS, text, at);
      const bare = address && address[0].slice(0, -trailing(address[0]) || undefined);
      if (bare) take({ link: bare, label: "" }, at + bare.length);
      else at += 1;
    } else at += 1;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

function found(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** How long the run of one character is that begins here. */
function run(text, at) {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** How many characters at the end of an address belong to the sentence around it. */
function trailing(address) {
  let length = 0;
  while (".,;:!?)]".includes(address[address.length - 1 - length])) length += 1;
  return length;
}

/** What finds the next run of so many ticks, for places that are asked for in their order. */
function runs(text) {
  const places = new Map();
  for (let at = text.indexOf("`"); at >= 0; ) {
    const length = run(text, at);
    if (!places.has(length)) places.set(length, { all: [], next: 0 });
    places.get(length).all.push(at);
    at = text.indexOf("`", at + length);
  }
  return (length, from) => {
    const known = places.get(length);
    while (known.next < known.all.length && known.all[known.next] < from) known.next += 1;
    return known.all[known.next] ?? -1;
  };
}

/** The same for the two stars that close something bold: no blank is before them. */
function closings(text) {
  let next = -2;
  return (from) => {
    if (next === -1 || next >= from) return next;
    for (next = text.indexOf("**", from); next >= 0 && blank(text[next - 1]); ) next = text.indexOf("**", next + 1);
    return next;
  };
}

/** Where a single star or low line closes: at the next one, if it stands between words and holds something. */
function soft(text, at, char) {
  const before = text[at - 1];
  if (word(before) || before === char || blank(text[at + 1]) || text[at + 1] === char) return -1;
  const end = text.indexOf(char, at + 1);
  if (end < 0 || blank(text[end - 1]) || word(text[end + 1]) || text[end + 1] === char) return -1;
  return end;
}
