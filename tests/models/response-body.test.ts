import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { checkJsonLines, checkJson } from '../../hub/models/response-body.ts';
import { failureOf, kindOf, never } from './scene.ts';

const about = { model: 'x', signal: never };
const kilobyte = Buffer.alloc(1024, 'a');

const answerOf = (chunks: Iterable<Uint8Array>) => new Response(ReadableStream.from(chunks));
const read = async (chunks: Iterable<Uint8Array>) =>
  await checkJsonLines(answerOf(chunks), about).text();

function* endless(): Generator<Uint8Array> {
  for (;;) yield kilobyte;
}

describe('a response of lines', () => {
  test('may be split anywhere, also within a character', async () => {
    const text = '{"a":"ünïcödé 🙂"}\n{"done":true}\n';
    const bytes = Array.from(Buffer.from(text), byte => Buffer.of(byte));
    const reader = checkJsonLines(answerOf(bytes), about).body?.getReader();
    const lines = [await reader?.read(), await reader?.read()];
    assert.equal(lines.map(line => Buffer.from(line?.value ?? []).toString()).join(''), text);
  });

  test('may be one value without a newline, and blank lines are ignored', async () => {
    const reader = checkJsonLines(
      answerOf([Buffer.from('\n\r\n{"a":1}')]),
      about,
    ).body?.getReader();
    assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), '{"a":1}\n');
  });

  test('is not read on if a line does not end', async () => {
    assert.equal(await kindOf(read(endless())), 'malformed');
  });

  test('that ends within a line after others is cut off', async () => {
    assert.equal(await kindOf(read([Buffer.from('{"a":1}\n{"a":')])), 'cut');
    assert.equal(await kindOf(read([Buffer.from('null\n')])), 'malformed');
  });

  test('that ends within its first line is cut off, unless it is no JSON', async () => {
    assert.equal(await kindOf(read([Buffer.from(' {"message":{"con')])), 'cut');
    assert.equal(await kindOf(read([Buffer.from('hello')])), 'malformed');
  });

  test('says whether it is empty or an HTML page', async () => {
    assert.match(
      (await failureOf(read([]))).message,
      /^the answer is empty\. Check that OLLAMA_HOST/,
    );
    for (const [response, words] of [
      [new Response(null, { status: 204 }), /^the answer is empty/],
      [new Response('hi', { headers: { 'content-type': 'Text/HTML' } }), /^the answer is an HTML/],
    ] as const)
      assert.throws(() => checkJsonLines(response, about), { message: words });
  });

  test.for([
    ['"no memory"', 'no memory'],
    ['{"message":"no memory","code":500}', 'no memory'],
    ['{"code":500}', '{"code":500}'],
    ['null', 'null'],
  ] as const)('fails with an error of any form: %s', async ([error, words]) => {
    const { kind, message } = await failureOf(read([Buffer.from(`{"error":${error}}\n`)]));
    assert.deepEqual([kind, message], ['refused', `Ollama stopped with an error: ${words}`]);
  });
});

describe('a response of one value', () => {
  test('is not read on if it is too long', async () => {
    assert.equal(await kindOf(checkJson(answerOf(endless()), about)), 'malformed');
  });

  test('must be exactly one value', async () => {
    const { kind, message } = await failureOf(checkJson(new Response(null), about));
    assert.equal(kind, 'malformed');
    assert.match(message, /^the answer is empty/);
    assert.equal(await (await checkJson(new Response('[1]'), about)).text(), '[1]');
  });
});
