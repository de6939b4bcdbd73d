import assert from 'node:assert/strict';
import type { TestHub } from '#helpers/hub';
import { readOne } from './expected.ts';
import { openPipe } from './pipe.ts';
import { replay } from './settings.ts';
import { type Told, toldIn } from './told.ts';

/** A well-behaved client over HTTP, which must not be affected by the others. */
interface Bystander {
  /** Calls `echo`. Fails unless the answer is that to its own call. */
  echo(): Promise<void>;
  /** Returns the statistics of its server about the server's invalid messages. */
  told(): Promise<Told>;
  close(): void;
}

/** Connects a bystander to a `whisper.mjs`. */
export async function openBystander(hub: TestHub, server: string): Promise<Bystander> {
  const pipe = openPipe(hub.url);
  let headers = {};
  let lastId = 0;
  async function ask(method: string, params: object): Promise<string> {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params }));
    let text = '';
    // Requests of the server that arrive meanwhile are ignored.
    const took = (bytes: Buffer) =>
      void (readOne(bytes).kind === 'answer' && (text = bytes.toString()));
    const head = await pipe.post(`/mcp/${server}`, body, headers, took);
    const session = head.headers['mcp-session-id'];
    if (session !== undefined) headers = { 'Mcp-Session-Id': session };
    return text;
  }
  const clientInfo = { name: 'bystander', version: '1' };
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  return {
    async echo() {
      const secret = `bystander ${lastId}`;
      const text = await ask('tools/call', { name: 'echo', arguments: { secret } });
      assert.equal(text.match(/bystander/g)?.length, 1, `${replay()} ${text}`);
      assert.ok(
        text.includes(`"id":${lastId}`) && text.includes(`"echo ${secret}"`),
        `${replay()} ${text}`,
      );
    },
    told: async () => toldIn(await ask('tools/call', { name: 'stats', arguments: {} })),
    close: () => pipe.close(),
  };
}
