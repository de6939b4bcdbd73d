import type { Serializable } from 'node:child_process';
import { decodeText, isObject } from '#core';
import { z } from 'zod';
import type { CommitNeeds } from '../document-commit.ts';
import { toError } from './errors.ts';

/** Sends a request from the process of a run to the hub. `schema` parses the answer. Rejects with HubError. */
type AskHub = <T>(name: string, params: object, schema: z.ZodType<T>) => Promise<T>;

const tracked = z.object({
  path: z.string(),
  mode: z.enum(['file', 'executable', 'link']),
  bytes: z.number(),
  hash: z.string(),
});
const note = z.object({ path: z.string(), text: z.string() });
const sized = { path: z.string(), bytes: z.number() };
const readFile = z.discriminatedUnion('kind', [
  z.object({ ...sized, kind: z.literal('bytes'), content: z.instanceof(Uint8Array) }),
  z.object({ ...sized, kind: z.literal('omitted') }),
  z.object({ path: z.string(), kind: z.literal('missing') }),
]);
const none = z.unknown();

/** Schemas for the parameters of the process's requests. */
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
};

/** Channel for messages to and from the hub. */
type HubChannel = {
  readonly onMessage: (listener: (message: unknown) => void) => unknown;
  readonly send: (message: Serializable) => void;
};

/** Creates a function that sends requests to the hub over a channel. */
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

/** Creates the dependencies of `documentCommit`, which send requests to the hub, except for those in `own`. */
export function askingHub(ask: AskHub, own: Pick<CommitNeeds, 'clock' | 'pace'>): CommitNeeds {
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
        (await ask('readFiles', { files, limits }, z.array(readFile))).map(decoded),
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
    ...own,
    report: (step, text) => void ask('report', { step, text }, none),
  };
}

/** Matches the mark with which some editors of Windows begin a file. Parsers of JSON and of code refuse it. */
const byteOrderMark = /^\ufeff/;

/** Decodes a file in this process, because the hub has more to do. */
function decoded(file: z.output<typeof readFile>) {
  if (file.kind !== 'bytes') return file;
  const { path, bytes, content } = file;
  const text = decodeText(content);
  return text === undefined
    ? ({ path, kind: 'binary', bytes } as const)
    : ({ path, kind: 'text', text: text.replace(byteOrderMark, ''), bytes } as const);
}
