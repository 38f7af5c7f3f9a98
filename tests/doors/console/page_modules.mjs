// Calls functions of the console's modules that need no browser: one request a line, one answer a line.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];

for await (const line of createInterface({ input: process.stdin })) {
  const { module, call, given } = JSON.parse(line);
  let answer;
  try {
    const found = await import(pathToFileURL(`${folder}/${module}`));
    answer = { value: await found[call](...given) };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
