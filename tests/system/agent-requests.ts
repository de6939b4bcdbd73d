import assert from 'node:assert/strict';
import { isObject } from '#core';
import type { HubProcess } from '../helpers/hub-process.ts';

type Answer = { readonly [key: string]: unknown };

/**
 * Returns functions that send requests about agents to a hub as its owner. `hub` is called for each request, because
 * tests start another hub meanwhile.
 */
export function createAgentRequests(hub: () => Pick<HubProcess, 'url' | 'ownerHeaders'>) {
  /** Sends a request. Returns the JSON object of the response, empty for an empty response. Rejects if it is refused. */
  async function ask(method: string, path: string, body?: object): Promise<Answer> {
    const { url, ownerHeaders } = hub();
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, text);
    const content: unknown = text === '' ? {} : JSON.parse(text);
    assert.ok(isObject(content), text);
    return content;
  }

  /** Sends a message to an agent and returns the id of the message. */
  async function send(agent: string, message: string): Promise<string> {
    return String((await ask('POST', `/agents/${agent}/messages`, { message }))['message_id']);
  }

  /** Waits for the answer to a message. Returns its text, or the code of its error. */
  async function outcome(agent: string, id: string): Promise<string> {
    for (;;) {
      const path = `/agents/${agent}/messages?since=${id}&wait_seconds=60&count=1000`;
      const { messages, error } = await ask('GET', path);
      const texts = (Array.isArray(messages) ? messages : []).filter(
        ({ message_id: of, role }) => of === id && role === 'assistant',
      );
      if (texts.length > 0) return texts.map(({ content }) => content[0].text).join('|');
      if (isObject(error)) return String(error['code']);
    }
  }

  return { ask, send, outcome };
}
