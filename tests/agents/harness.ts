import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentDesk,
  type AgentHost,
  type Agents,
  type AgentsLimits,
  createAgents,
} from '#agents';
import { HubError, type JsonObject, createEmitter } from '#core';
import { createBacklog } from '#store';
import { type ManualClock, createManualClock } from '../helpers/clock.ts';
import { createRecordingLog } from '../helpers/recording-log.ts';

/** Turn of an agent, which the script answers. */
type Turn = {
  readonly agent: string;
  readonly id: string;
  readonly message: string;
  /** Calls `use_agent` as the agent. */
  readonly useAgent: (args: object) => Promise<JsonObject>;
  /** Aborts when the turn is cancelled or the container ends. */
  readonly signal: AbortSignal;
};
type Script = (turn: Turn) => Promise<string> | string;

/** Container of an agent, simulated in this process. */
type Body = {
  containerId: string | undefined;
  readonly calls: string[];
  /** Session and settings that each `chat` passed to the container. */
  readonly briefings: { readonly session?: unknown; readonly settings?: unknown }[];
  /** Errors with which the next starts fail. */
  readonly failures: Error[];
  /** What the next starts wait for. A start goes on when its caller does not wait for it any more. */
  readonly starts: Promise<unknown>[];
  /** Ends the container as if it had been killed. */
  die(): void;
};

export type Harness = AsyncDisposable & {
  readonly agents: Agents;
  readonly clock: ManualClock;
  readonly folder: string;
  readonly bodies: ReadonlyMap<string, Body>;
  /** Tokens that the agents have spent, as their containers store them. */
  readonly spending: AgentDesk['spending'];
  /** Abandons this hub as a kill does, and opens the next one on its files. The containers keep running, or end. */
  restarted(containers: 'run' | 'end'): Promise<Harness>;
};

const usual: AgentsLimits = { max: 5, maxRunning: 3, queue: 4, turnMs: 60_000, idleMs: 600_000 };

export async function openHarness(
  script: Script,
  limits: Partial<AgentsLimits> = {},
  earlier?: {
    readonly folder: string;
    readonly running: ReadonlyMap<string, string>;
    /** Closes the files of the abandoned hub. */
    readonly close: () => Promise<void>;
  },
): Promise<Harness> {
  const folder = earlier?.folder ?? (await mkdtemp(join(tmpdir(), 'agents-')));
  const clock = createManualClock();
  const bodies = new Map<string, Body>();
  const { log } = createRecordingLog();
  let isKilled = false;
  const forgotten = Promise.withResolvers<never>();
  forgotten.promise.catch(() => undefined); // Handled, as no call may await `forgotten`.
  const desks: AgentDesk[] = [];
  const host = (desk: AgentDesk): AgentHost => ({
    open(id) {
      const changed = createEmitter<undefined>();
      let turns = new AbortController();
      const results = new Map<string, Promise<JsonObject>>();
      const body: Body = {
        containerId: undefined,
        calls: [],
        briefings: [],
        failures: [],
        starts: [],
        die() {
          body.containerId = undefined;
          turns.abort(new HubError('HUB_AGENT_DIED', `the container of ${id} ended`));
          turns = new AbortController();
          changed.fire(undefined);
        },
      };
      bodies.set(id, body);
      async function chat(messageId: string, message: string): Promise<JsonObject> {
        const { signal } = turns;
        const died = new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
        const useAgent = (args: object) => desk.useAgent(id, args, signal);
        const said = script({ agent: id, id: messageId, message, useAgent, signal });
        const text = await Promise.race([said, died]);
        return resultOf(messageId, text);
      }
      return {
        get containerId() {
          return body.containerId;
        },
        get existing() {
          return body.containerId;
        },
        changed: changed.event,
        async ready() {
          const failure = body.failures.shift();
          if (failure) throw failure;
          await body.starts.shift();
          if (body.containerId === undefined) {
            body.containerId = `${id}-${process.hrtime.bigint()}`;
            changed.fire(undefined);
          }
          return body.containerId;
        },
        async adopt() {
          body.containerId = earlier?.running.get(id);
          changed.fire(undefined);
          return body.containerId !== undefined;
        },
        async call(tool, args) {
          const {
            message_id: messageId,
            message,
            ...briefing
          } = args as {
            message_id: string;
            message: string;
          };
          body.calls.push(tool === 'chat' ? `chat ${message}` : tool);
          if (tool !== 'chat') return {};
          body.briefings.push(briefing);
          const known = results.get(messageId) ?? chat(messageId, message);
          results.set(messageId, known);
          const result = await known;
          // A killed hub receives no result.
          return isKilled ? await forgotten.promise : result;
        },
        async stop() {
          if (body.containerId !== undefined) body.die();
        },
        async discard() {},
      };
    },
  });
  const agents = createAgents(
    { dataDir: folder, refusal: undefined, limits: () => ({ ...usual, ...limits }) },
    {
      clock,
      log,
      newId: () => `m${process.hrtime.bigint()}`,
      backlog: createBacklog(),
      contextTokens: async () => undefined,
      host(desk) {
        desks.push(desk);
        return host(desk);
      },
    },
  );
  const [desk] = desks;
  assert.ok(desk);
  await agents.service.start(new AbortController().signal);
  return {
    agents,
    clock,
    folder,
    bodies,
    spending: desk.spending,
    async restarted(containers) {
      isKilled = true;
      const running = new Map<string, string>();
      if (containers === 'run')
        for (const [id, { containerId }] of bodies)
          if (containerId !== undefined) running.set(id, containerId);
      const close = async () => {
        forgotten.reject(new HubError('HUB_AGENT_DIED', 'the hub was killed'));
        await agents.service.stop();
        await earlier?.close();
      };
      return await openHarness(script, limits, { folder, running, close });
    },
    async [Symbol.asyncDispose]() {
      if (isKilled) return;
      await agents.service.stop();
      await earlier?.close();
      // Retries, because a killed hub may still be writing its last record.
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const resultOf = (id: string, text: string): JsonObject => ({
  message_id: id,
  status: 'answered',
  text,
  messages: [
    {
      message_id: id,
      role: 'user',
      at: '',
      content: [{ type: 'text', text: 'as the agent got it' }],
    },
    {
      message_id: id,
      role: 'assistant',
      at: '',
      content: [{ type: 'tool_use', id: 'c', name: 'shell', input: {} }],
    },
    {
      message_id: id,
      role: 'tool',
      at: '',
      content: [{ type: 'tool_result', tool_use_id: 'c', text: 'ok', is_error: false }],
    },
    { message_id: id, role: 'assistant', at: '', content: [{ type: 'text', text }] },
  ],
  usage: { input_tokens: 3, output_tokens: 2, model_calls: 1 },
  model: 'scripted',
  snapshot: { state: id },
});

/** Resolves with the texts after `since` and the error, once the message has its outcome. */
export async function answerTo(agents: Agents, id: string, since: string) {
  const never = new AbortController().signal;
  const { messages, error } = await agents.messages(id, { count: 9, since, waitMs: 1e9 }, never);
  const texts = messages.flatMap(({ content }) =>
    content.flatMap(part => (part.type === 'text' ? [part.text] : [])),
  );
  return error ? { texts, code: error.code } : { texts };
}
