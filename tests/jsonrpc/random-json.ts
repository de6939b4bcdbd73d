/** Returns a generator of numbers in [0, 1), which repeats for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a whole number from 0 to `below - 1`. */
export function under(random: () => number, below: number): number {
  return Math.floor(random() * below);
}

function pick(random: () => number, from: readonly string[]): string {
  return from[under(random, from.length)] ?? '';
}

const spaces = ['', '', '', '', ' ', '\t', '\n', '\r', '\r\n', '  \n '];
const scalars = ['null', 'true', 'false', '""', '{}', '[]', '[ ]', '{\n}'];
const integers = [
  '0',
  '-0',
  '1',
  '-1',
  '42',
  '9007199254740993',
  '-123456789012345678901234567890',
];
const fractions = ['', '', '.0', '.5', '.000', '.10293847'];
const exponents = ['', '', 'e1', 'E5', 'e+400', 'E-400', 'e0', 'e-0'];
const characters = [
  'a',
  'Z',
  ' ',
  '/',
  '{',
  ']',
  ',',
  ':',
  '\u007f',
  'é',
  '漢',
  '😀',
  '\u2028',
  '\ufeff',
  String.raw`\"`,
  String.raw`\\`,
  String.raw`\/`,
  String.raw`\b\f\n\r\t`,
  String.raw`\u0000`,
  String.raw`\u00e9`,
  String.raw`\uD83D\uDE00`,
  String.raw`\ud800`,
  String.raw`\uDFff`,
];

function many(random: () => number, make: () => string, between = ''): string {
  return Array.from({ length: under(random, 6) }, make).join(between);
}

function randomString(random: () => number): string {
  return `"${many(random, () => pick(random, characters))}"`;
}

/** Returns a valid JSON document of any kind, with white space, escapes and numbers of every form. */
export function randomJson(random: () => number, depth = 4): string {
  const space = () => pick(random, spaces);
  const value = () => space() + randomJson(random, depth - 1) + space();
  switch (under(random, depth > 0 ? 6 : 3)) {
    case 0:
      return pick(random, scalars);
    case 1:
      return pick(random, integers) + pick(random, fractions) + pick(random, exponents);
    case 2:
      return randomString(random);
    case 3:
    case 4:
      return `{${many(random, () => `${space()}${randomString(random)}${space()}:${value()}`, ',') || space()}}`;
    default:
      return `[${many(random, value, ',') || space()}]`;
  }
}

/** Bytes that make JSON invalid at most places. */
const splinters = [
  ...Array.from('{}[]",:.-+eE0123456789tfnu\\/ \t\n\r\u0000\u001f\u00a0\u000b'),
  'NaN',
  'Infinity',
  'undefined',
  'True',
  'nul',
  ',}',
  ',]',
  '//',
  '/**/',
  "'",
  String.raw`\x41`,
  String.raw`\u12`,
  String.raw`\u{41}`,
  '00',
  '1.',
  '.5',
  '+1',
  '0x10',
  '1e',
  '\ufeff',
];

/** Returns the bytes with one random change: truncated, shortened, extended, or with an insertion. */
export function mutate(random: () => number, bytes: Buffer): Buffer {
  const at = under(random, bytes.length + 1);
  const splinter = Buffer.from(pick(random, splinters));
  switch (under(random, 6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), splinter, bytes.subarray(at)]);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), splinter, bytes.subarray(at + 1)]);
    case 4:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.of(under(random, 256)),
        bytes.subarray(at),
      ]);
    default: {
      const end = Math.min(bytes.length, at + under(random, 8));
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    }
  }
}
