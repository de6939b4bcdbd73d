import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { describe, test } from 'vitest';
import { maxDepth, skipSpace, skipValue } from '../../hub/jsonrpc/scan.ts';
import { createRandom, mutate, randomJson } from './random-json.ts';

/** Returns true if the scanner accepts the whole document. */
function scans(bytes: Buffer): boolean {
  const end = skipValue(bytes, skipSpace(bytes, 0));
  return end >= 0 && skipSpace(bytes, end) === bytes.length;
}

/** Returns true if JSON.parse accepts the document. */
function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

function agrees(bytes: Buffer, where = ''): void {
  assert.equal(scans(bytes), parses(bytes), `${where} ${JSON.stringify(bytes.toString())}`);
}

test('accepts every valid document', () => {
  for (let seed = 0; seed < 5000; seed++) {
    const text = randomJson(createRandom(seed));
    assert.ok(parses(Buffer.from(text)), `the generator is wrong at seed ${seed}: ${text}`);
    agrees(Buffer.from(text), `seed ${seed}`);
  }
});

test('accepts and refuses mutated documents like JSON.parse', () => {
  let accepted = 0;
  let refused = 0;
  for (let seed = 0; seed < 5000; seed++) {
    const random = createRandom(seed);
    const document = Buffer.from(randomJson(random));
    for (let mutation = 0; mutation < 10; mutation++) {
      const bytes = mutate(random, document);
      // The whole message is checked for valid UTF-8 before it is scanned.
      if (!isUtf8(bytes)) continue;
      agrees(bytes, `seed ${seed}, mutation ${mutation}`);
      if (scans(bytes)) accepted++;
      else refused++;
    }
  }
  assert.ok(accepted > 1000 && refused > 1000, `${accepted} accepted, ${refused} refused`);
});

test('accepts and refuses each prefix of a document like JSON.parse', () => {
  for (let seed = 0; seed < 300; seed++) {
    const document = Buffer.from(randomJson(createRandom(seed)));
    for (let length = 0; length < document.length; length++) {
      const bytes = document.subarray(0, length);
      if (isUtf8(bytes)) agrees(bytes, `seed ${seed}`);
    }
  }
});

describe('agrees with JSON.parse on', () => {
  test('a long string with any byte at any position, at any alignment in memory', () => {
    const [before, inside] = [16, 560];
    const memory = Buffer.alloc(before + inside + 2);
    for (let begin = 0; begin < before; begin++) {
      const bytes = memory.subarray(begin, begin + inside + 2);
      for (const [at, byte] of [
        ...Array.from({ length: inside }, (_, place) => [place + 1, 0x0a] as const),
        ...Array.from({ length: 256 }, (_, value) => [begin + 500, value] as const),
      ]) {
        bytes.fill('a').write('"');
        bytes.write('"', inside + 1);
        bytes[at] = byte;
        assert.equal(scans(bytes), parses(bytes), `${byte} at ${at}, begun at ${begin}`);
      }
    }
  });

  const numbers = ['0', '-', '+', '.', 'e', 'E', '1', '9', '00', '-0'];
  test('every number of up to five pieces', () => {
    let some: readonly string[] = [''];
    for (let pieces = 0; pieces < 5; pieces++) {
      some = some.flatMap(head => numbers.map(piece => head + piece));
      for (const text of pieces < 4 ? some : some.filter((_, at) => at % 7 === 0))
        agrees(Buffer.from(text));
    }
  });

  test('every byte alone, in a string, in an escape and between tokens', () => {
    for (let byte = 0; byte < 256; byte++)
      for (const [before, after] of [
        ['', ''],
        ['"', '"'],
        ['"\\', '"'],
        ['"\\u00', '0"'],
        ['[1', ',2]'],
        ['{"a"', ':1}'],
      ]) {
        const bytes = Buffer.concat([
          Buffer.from(before ?? ''),
          Buffer.of(byte),
          Buffer.from(after ?? ''),
        ]);
        if (isUtf8(bytes)) agrees(bytes);
      }
  });

  test.for([
    'NaN',
    'Infinity',
    '-Infinity',
    'undefined',
    'nul',
    'nulL',
    'truefalse',
    'falsee',
    '[1,]',
    '[,1]',
    '[1 2]',
    '{"a":1,}',
    '{,}',
    '{a:1}',
    "{'a':1}",
    '{"a" 1}',
    '{"a"}',
    '{1:1}',
    '[}',
    '{]',
    '1 2',
    '"a"b',
    '\ufeff{}',
    '{}\ufeff',
    '\u00a0{}',
    '\u2028{}',
    '\f{}',
    '// a\n{}',
    '"\t"',
    '"\n"',
    '"\u007f"',
    '"\\u12g4"',
    '"\\u123"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\',
    '"',
    '',
    ' ',
    ' \t\r\n{ } \t\r\n',
  ])('%j', text => agrees(Buffer.from(text)));
});

describe('depth', () => {
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
  const objects = (depth: number) => Buffer.from('{"a":'.repeat(depth) + '0' + '}'.repeat(depth));

  test('is accepted up to the limit and refused above it, unlike in JSON.parse', () => {
    assert.ok(scans(nested(maxDepth)) && scans(objects(maxDepth)));
    assert.ok(!scans(nested(maxDepth + 1)) && !scans(objects(maxDepth + 1)));
    assert.ok(parses(nested(maxDepth + 1)));
  });

  test('of a million is refused without a stack overflow', () => {
    assert.ok(!scans(nested(1_000_000)));
    assert.ok(!scans(Buffer.from('['.repeat(1_000_000))));
  });
});
