import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import {
  dropMembers,
  elementsOf,
  membersOf,
  rawText,
  replace,
  setMembers,
  splice,
  stringAt,
  valueOf,
} from '#jsonrpc';
import { createRandom, randomJson, under } from './random-json.ts';

const whole = (text: string) => ({
  bytes: Buffer.from(text),
  span: { start: 0, end: Buffer.byteLength(text) },
});

/** Returns the members of a document by name, as text. */
function members(text: string): Record<string, string> | undefined {
  const { bytes, span } = whole(text);
  const found = membersOf(bytes, span);
  return found && Object.fromEntries([...found].map(([name, at]) => [name, rawText(bytes, at)]));
}
function elements(text: string): readonly string[] {
  const { bytes, span } = whole(text);
  return elementsOf(bytes, span).map(at => rawText(bytes, at));
}

describe('membersOf', () => {
  test('returns the values by name, unparsed', () => {
    assert.deepEqual(members('{}'), {});
    assert.deepEqual(members('{ }'), {});
    assert.deepEqual(members('{"a":1,"b" : {"a":[2]} , "c":"}"}'), {
      a: '1',
      b: '{"a":[2]}',
      c: '"}"',
    });
    assert.deepEqual(members('{"\\u0061":1e400,"漢":null}'), { a: '1e400', 漢: 'null' });
  });

  test('is undefined for other values than objects, and for an object with a duplicate name', () => {
    for (const text of ['[]', '1', '"{}"', 'null', '{"a":1,"a":1}', '{"a":1,"\\u0061":2}'])
      assert.equal(members(text), undefined, text);
    assert.equal(membersOf(Buffer.from('{}'), undefined), undefined);
  });
});

test('a span of invalid JSON has neither members nor elements', () => {
  for (const text of [
    '{',
    '{b"',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1 "b"}',
    '{"a":x}',
    '{1:1}',
  ])
    assert.equal(members(text), undefined, text);
  for (const text of ['[', '[1', '[1,', '[x]', '["a']) assert.deepEqual(elements(text), [], text);
});

describe('elementsOf', () => {
  test('returns the elements unparsed, and none for other values than arrays', () => {
    assert.deepEqual(elements('[]'), []);
    assert.deepEqual(elements('[ 1 ,"]", [2,3],{"a":[]} ]'), ['1', '"]"', '[2,3]', '{"a":[]}']);
    assert.deepEqual(elements('{"a":1}'), []);
    assert.deepEqual(elementsOf(Buffer.from('[]'), undefined), []);
  });

  test('stops at the limit', () => {
    const { bytes, span } = whole('[1,2,3]');
    assert.equal(elementsOf(bytes, span, 2).length, 2);
  });
});

test('stringAt returns the value of a string, and undefined otherwise', () => {
  const at = (text: string) => stringAt(whole(text).bytes, whole(text).span);
  assert.equal(at('"plain"'), 'plain');
  assert.equal(at('"\\u0041\\n\\"漢"'), 'A\n"漢');
  assert.equal(at('""'), '');
  for (const text of ['1', 'null', '{}', '["a"]']) assert.equal(at(text), undefined);
  assert.equal(stringAt(Buffer.from('""'), undefined), undefined);
});

test('valueOf parses a span, and returns undefined without one', () => {
  assert.deepEqual(valueOf(Buffer.from('x{"a":1}x'), { start: 1, end: 8 }), { a: 1 });
  assert.equal(valueOf(Buffer.from('1'), undefined), undefined);
});

describe('splice', () => {
  const bytes = Buffer.from('{"a": 12345678901234567890, "b":1e400 ,\t"c":"\\u00e9漢","d":[ ]}');
  const spanOf = (text: string) => {
    const start = bytes.indexOf(text);
    return { start, end: start + Buffer.byteLength(text) };
  };

  test('replaces spans in any order and leaves all other bytes', () => {
    const edits = [
      { span: spanOf('"\\u00e9漢"'), text: '"größe 😀"' },
      { span: spanOf('"a"'), text: '"longer"' },
      { span: spanOf('[ ]'), text: '' },
    ];
    const expected = '{"longer": 12345678901234567890, "b":1e400 ,\t"c":"größe 😀","d":}';
    assert.equal(splice(bytes, edits).toString(), expected);
    assert.equal(splice(bytes, edits.toReversed()).toString(), expected);
  });

  test('copies if there is nothing to replace, and inserts at an empty span', () => {
    const copy = splice(bytes, []);
    assert.deepEqual(copy, bytes);
    copy[0] = 0;
    assert.equal(bytes[0], 0x7b);
    assert.equal(
      splice(Buffer.from('{}'), [{ span: { start: 1, end: 1 }, text: '"a":1' }]).toString(),
      '{"a":1}',
    );
  });

  test('agrees with edits made one by one, last first, for random documents', () => {
    for (let seed = 0; seed < 1000; seed++) {
      const random = createRandom(seed);
      const parts = Array.from({ length: 1 + under(random, 8) }, () => randomJson(random, 2));
      const document = Buffer.from(`[${parts.join(',')}]`);
      const edits = elementsOf(document, { start: 0, end: document.length })
        .filter(() => random() < 0.5)
        .map(span => ({ span, text: randomJson(random, 1) }));
      const expected = edits.reduceRight(
        (bytes, { span, text }) =>
          Buffer.concat([
            bytes.subarray(0, span.start),
            Buffer.from(text),
            bytes.subarray(span.end),
          ]),
        document,
      );
      assert.deepEqual(splice(document, edits), expected, `seed ${seed}`);
      assert.deepEqual(splice(document, edits.toReversed()), expected, `seed ${seed}`);
    }
  });
});

describe('replace', () => {
  const sizes = [0, 1, 40, 4000, 9000];
  const texts = ['7', '12345', '"an id that is longer than the one it stands for"', '"é"'];

  test('returns what splice returns, wherever the span is, and leaves the memory beside it', () => {
    for (const before of sizes)
      for (const after of sizes)
        for (const text of texts) {
          const message = `${'b'.repeat(before)}12345${'a'.repeat(after)}`;
          const memory = Buffer.from(`left${message}right`);
          const bytes = memory.subarray(4, 4 + message.length);
          const span = { start: before, end: before + 5 };
          const expected = splice(bytes, [{ span, text }]).toString();
          const where = `${text} between ${before} and ${after}`;
          assert.equal(replace(bytes, span, text).toString(), expected, where);
          assert.equal(memory.toString('utf8', 0, 4), 'left', where);
          assert.equal(memory.toString('utf8', 4 + message.length), 'right', where);
        }
  });

  test('allocates no copy of a large message, and retains none with a small one', () => {
    const span = { start: 0, end: 5 };
    const large = Buffer.from(`12345${'x'.repeat(9000)}`);
    assert.ok(replace(large, span, '7').buffer === large.buffer);
    const small = Buffer.alloc(60_000, '12345').subarray(0, 100);
    assert.ok(replace(small, span, '7').buffer !== small.buffer);
  });
});

/** Returns an object within a message, and functions that edit it. */
function within(text: string) {
  const bytes = Buffer.from(`{"before":1,"it":${text},"after":2}`);
  const span = membersOf(bytes, { start: 0, end: bytes.length })?.get('it');
  const members = membersOf(bytes, span);
  assert.ok(span && members);
  const edited = (edits: Parameters<typeof splice>[1]) => {
    const whole = splice(bytes, edits).toString();
    const [, inner] = /^\{"before":1,"it":(.*),"after":2\}$/s.exec(whole) ?? [];
    return inner ?? assert.fail(whole);
  };
  return {
    drop: (...names: readonly string[]) =>
      edited(dropMembers(bytes, span, members, new Set(names))),
    set: (given: Readonly<Record<string, string>>) => edited(setMembers(span, members, given)),
  };
}

describe('members that are dropped', () => {
  for (const [text, names, left] of [
    ['{"a":1,"b":2,"c":3}', [], '{"a":1,"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['x'], '{"a":1,"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['a'], '{"b":2,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['b'], '{"a":1,"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['c'], '{"a":1,"b":2}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'b'], '{"c":3}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'c'], '{"b":2}'],
    ['{"a":1,"b":2,"c":3}', ['b', 'c'], '{"a":1}'],
    ['{"a":1,"b":2,"c":3}', ['a', 'b', 'c'], '{}'],
    ['{}', ['a'], '{}'],
    ['{"a":[1,{"b":","}],"b":{"a":1},"c":"}"}', ['a'], '{"b":{"a":1},"c":"}"}'],
    ['{"a":[1,{"b":","}],"b":{"a":1},"c":"}"}', ['b'], '{"a":[1,{"b":","}],"c":"}"}'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', ['a'], '{ "b" : 2 , "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', ['b'], '{ "a" : 1 , "c" : 3 }'],
    ['{ "a" : 1 , "b" : 2 , "c" : 3 }', ['c'], '{ "a" : 1 , "b" : 2 }'],
    [String.raw`{"\u0061":1,"b":2}`, ['a'], '{"b":2}'],
  ] as const)
    test(`${names.join() || 'none'} of ${text}`, () => {
      assert.equal(within(text).drop(...names), left);
    });
});

describe('members that are set', () => {
  for (const [text, given, left] of [
    ['{"a":1,"b":2}', { b: '3' }, '{"a":1,"b":3}'],
    ['{"a":1}', { b: '[2]', c: '{}' }, '{"b":[2],"c":{},"a":1}'],
    ['{}', { 'b"': '2' }, String.raw`{"b\"":2}`],
    ['{"a":1}', { b: '2', a: '3' }, '{"b":2,"a":3}'],
    ['{"a":1}', {}, '{"a":1}'],
  ] as const)
    test(`${JSON.stringify(given)} in ${text}`, () => {
      assert.equal(within(text).set(given), left);
    });
});
