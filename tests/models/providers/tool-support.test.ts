import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  isOfLlamaServer,
  requireToolTemplate,
} from '../../../hub/models/providers/tool-support.ts';
import { never } from '../scene.ts';

const call = { provider: 'local', model: 'local/tiny', key: 'sk-1' };

/**
 * Checks the tool support of a server whose /props returns `props`. Returns the URLs and credentials of the requests.
 */
async function check(props: Response | Error, signal = never) {
  const asked: string[] = [];
  await requireToolTemplate('http://127.0.0.1:8080/v1', call, {
    signal,
    async fetch(url, init) {
      const { authorization } = Object.fromEntries(new Headers(init?.headers));
      asked.push(`${new Request(url).url} ${authorization}`);
      if (props instanceof Error) throw props;
      return props;
    },
  });
  return asked;
}

const propsOf = (caps: unknown) =>
  Response.json({ chat_template_caps: caps }, { headers: { 'content-length': '60' } });

test('a template that ignores tools fails the call with the reason and the remedy', async () => {
  await assert.rejects(check(propsOf({ supports_tools: false })), {
    kind: 'refused',
    message:
      /^local\/tiny cannot call tools: the chat template .* does not show them .*--chat-template-file FILE/,
  });
});

test('the properties are requested beside the API and with the key', async () => {
  assert.deepEqual(await check(propsOf({ supports_tools: true })), [
    'http://127.0.0.1:8080/props Bearer sk-1',
  ]);
});

test('llama-server is recognized by its responses', () => {
  const of = (server: string) => isOfLlamaServer(new Response('', { headers: { server } }));
  assert.deepEqual([of('llama.cpp'), of('nginx')], [true, false]);
});

test.each([
  ['no such page', new Response('', { status: 404 })],
  ['no JSON', new Response('<html>', { headers: { 'content-length': '6' } })],
  ['other properties', propsOf(undefined)],
  ['a page without end', new Response('{}', { headers: { 'content-length': '99999999' } })],
  ['no connection', new Error('refused')],
])('an unknown case is left to the model: %s', async (_, props) => {
  assert.equal((await check(props)).length, 1);
});

test('a call that was cancelled stays cancelled', async () => {
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(check(new Error('aborted'), signal), /aborted/);
});

test('properties are read up to a limit, whatever length the header has', async () => {
  let pieces = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (++pieces > 1_000) controller.error(new Error('read without a limit'));
      else controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
    },
  });
  // The length is shorter than the body, as that of a compressed response is.
  await check(new Response(endless, { headers: { 'content-length': '60' } }));
  assert.ok(pieces < 1_000, `${pieces} pieces were read`);
});
