import type { Serializable } from 'node:child_process';
import { createPace, isObject } from '#core';
import { z } from 'zod';
import type { CommitNeeds } from '../document-commit.ts';
import { toError } from './errors.ts';

/** Asks the hub from the process of a run. `schema` parses the answer. Rejects with HubError. */
export type AskHub = <T>(name: string, params: object, schema: z.ZodType<T>) => Promise<T>;

const tracked = z.object({
  path: z.string(),
  mode: z.enum(['file', 'executable', 'link']),
  bytes: z.number(),
  hash: z.string(),
});
const note = z.object({ path: z.string(), text: z.string() });
const sized = { path: z.string(), bytes: z.number() };
const readFile = z.discriminatedUnion('kind', [
  z.object({ ...sized, kind: z.literal('text'), text: z.string() }),
  z.object({ ...sized, kind: z.literal('binary') }),
  z.object({ ...sized, kind: z.literal('omitted') }),
  z.object({ path: z.string(), kind: z.literal('missing') }),
]);
const none = z.unknown();

/** Parameters of the requests of the process. */
export const params = {
  files: z.object({ from: z.number() }),
  readFiles: z.object({
    files: z.array(z.union([z.string(), tracked])),
    limits: z.object({ fileBytes: z.number(), maxBytes: z.number() }),
  }),
  listNotes: z.object({ folder: z.string() }),
  readNote: z.object({ path: z.string() }),
  writeNotes: z.object({ notes: z.array(note) }),
  removeNote: z.object({ path: z.string() }),
  contextTokens: z.object({ model: z.string() }),
  chat: z.object({ model: z.string(), system: z.string(), prompt: z.string() }),
  report: z.object({ step: z.string(), text: z.string() }),
  after: z.object({ timer: z.number(), delayMs: z.number() }),
  cancelTimer: z.object({ timer: z.number() }),
};

/** Messages to and from the hub. */
export type HubChannel = {
  readonly onMessage: (listener: (message: unknown) => void) => unknown;
  readonly send: (message: Serializable) => void;
};

/** Asks over a channel to the hub. */
export function createAsk({ onMessage, send }: HubChannel): AskHub {
  const waiting = new Map<unknown, PromiseWithResolvers<unknown>>();
  let last = 0;
  onMessage(message => {
    if (!isObject(message)) return;
    const { id, value, error } = message;
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error === undefined) resolve?.(value);
    else reject?.(toError(error));
  });
  return async (name, given, schema) => {
    const answer = Promise.withResolvers<unknown>();
    waiting.set(++last, answer);
    send({ id: last, name, params: given });
    return schema.parse(await answer.promise);
  };
}

/** The needs of the documentation of a commit, each of which asks the hub. */
export function askingHub(ask: AskHub): CommitNeeds {
  return {
    repository: {
      async files() {
        const files: z.output<typeof tracked>[] = [];
        for (;;) {
          const page = await ask('files', { from: files.length }, z.array(tracked));
          if (page.length === 0) return files;
          files.push(...page);
        }
      },
      readFiles: async (files, limits) =>
        await ask('readFiles', { files, limits }, z.array(readFile)),
    },
    vault: {
      list: async folder => await ask('listNotes', { folder }, z.array(z.string())),
      read: async path => await ask('readNote', { path }, z.string().optional()),
      write: async notes => void (await ask('writeNotes', { notes }, none)),
      remove: async path => void (await ask('removeNote', { path }, none)),
    },
    models: {
      contextTokens: async model => await ask('contextTokens', { model }, z.number().optional()),
      chat: async request => await ask('chat', request, z.string()),
    },
    clock: createAskedClock(ask),
    pace: createPace(),
    report: (step, text) => void ask('report', { step, text }, none),
  };
}

/** The clock of the hub. */
function createAskedClock(ask: AskHub): CommitNeeds['clock'] {
  let last = 0;
  return {
    after(delayMs, work) {
      const timer = ++last;
      let isOver = false;
      void ask('after', { timer, delayMs }, none).then(() => isOver || work());
      return {
        [Symbol.dispose]() {
          isOver = true;
          void ask('cancelTimer', { timer }, none);
        },
      };
    },
  };
}
