import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Documentation, type DocumentationModels, createDocumentation } from '#documentation';
import { type DocumentationConfig, readDocumentation } from '#config';
import { silent, systemClock } from '#core';
import { caller } from '#helpers/principal';
import { type Job, createJobs } from '#jobs';
import type { Principal } from '#policy';
import { createBacklog, createTable } from '#store';
import { redactJson, redactText } from '#telemetry';
import { parseDocumentationRequest } from '../../hub/documentation/request.ts';
import { linksIn } from './links-in.ts';
import { type Runner, createScene, git } from '../repositories/harness.ts';

/** Models of a hub without any: no default model, and empty answers. */
export const noModels: DocumentationModels = {
  defaultModel: async () => undefined,
  findFault: async () => undefined,
  contextTokens: async () => undefined,
  chat: async () => '',
};

/** Creates jobs that keep their journal in memory. */
export const createTestJobs = (journal: object[]) =>
  createJobs({
    clock: systemClock,
    log: silent,
    newId: randomUUID,
    redaction: { text: redactText, json: redactJson },
    openJournal: () => ({
      open: async () => [...journal],
      append: async record => journal.push(record) > 0,
      close: async () => {},
    }),
  });

type Options = {
  readonly models?: DocumentationModels;
  readonly config?: Partial<DocumentationConfig>;
  readonly runsIn?: Runner;
  /** Called before each start of a container or process. */
  readonly beforeLaunch?: () => void;
};

/**
 * Creates documentation of real repositories. Git runs as a process on this machine, unless `runsIn` names containers.
 */
export function createDocumentationScene({
  models = noModels,
  config = {},
  runsIn = 'process',
  beforeLaunch,
}: Options = {}) {
  const scene = createScene(runsIn, beforeLaunch);
  const { repositories, home } = scene;
  const usual = readDocumentation(undefined).documentation;
  const journal: object[] = [];
  const store = createTable(
    { file: undefined, maxEntries: 20 },
    { log: silent, backlog: createBacklog() },
  );

  /**
   * Starts the jobs and documentation of one run of a hub. `resumed`: jobs that the journal contains from earlier runs.
   */
  function start(over: Partial<DocumentationModels> = {}) {
    const jobs = createTestJobs(journal);
    const documentation: Documentation = createDocumentation({
      clock: systemClock,
      redact: redactText,
      jobs,
      repositories,
      models: { ...models, ...over },
      config: () => ({ ...usual, ...config }),
      store,
    });
    return { jobs, documentation };
  }

  const hub = start();
  void hub.documentation.service.start(new AbortController().signal);

  const vault = join(home, 'vault');
  mkdirSync(join(vault, '.obsidian'), { recursive: true });
  writeFileSync(join(vault, '.obsidian', 'app.json'), '{}');

  async function ended(id: string, { jobs } = hub): Promise<Job> {
    const { promise, resolve } = Promise.withResolvers<Job>();
    const look = () => {
      const job = jobs.get(id);
      if (job.state !== 'running') resolve(job);
    };
    using _heard = jobs.changed(look);
    look();
    return await promise;
  }

  return {
    ...scene,
    ...hub,
    start,
    store,
    vault,
    ended,
    /** Runs a request until its job ends. */
    async run(body: object, principal: Principal = caller): Promise<Job> {
      return await ended(
        await hub.documentation.begin(parseDocumentationRequest({ vault, ...body }), principal),
      );
    },
    /** Returns the notes of a project by name. */
    notes: (project: string): ReadonlyMap<string, string> => readNotes(join(vault, project)),
    async [Symbol.asyncDispose](): Promise<void> {
      await hub.documentation.service.stop();
      await scene[Symbol.asyncDispose]();
    },
  };
}

/** Returns the notes in a folder, by name without `.md`. */
export function readNotes(folder: string): ReadonlyMap<string, string> {
  if (!existsSync(folder)) return new Map();
  return new Map(
    readdirSync(folder)
      .filter(name => name.endsWith('.md'))
      .map(name => [name.slice(0, -'.md'.length), readFileSync(join(folder, name), 'utf8')]),
  );
}

export function resultOf(job: Job): Readonly<Record<string, unknown>> {
  if (job.state !== 'done')
    throw new Error('error' in job ? `${job.error.code}: ${job.error.message}` : job.state);
  return job.result;
}

/** Returns the links of the notes that lead to no note. */
export const brokenLinks = (notes: ReadonlyMap<string, string>): readonly string[] =>
  [...notes].flatMap(([name, text]) =>
    linksIn(text)
      .filter(target => !notes.has(target))
      .map(target => `${name} -> ${target}`),
  );

/**
 * Matches a cited path with a line. It needs an extension, as comments contain addresses such as `db.internal:5432`.
 */
const citations = /(?<!`)`([^`\n]+\.[a-z]{1,5}):(\d+)`(?!`)/g;

/**
 * Returns the citations of lines that do not exist at HEAD, and the number of all citations. HEAD must be checked out
 * without changes.
 */
export function checkCitations(repository: string, notes: ReadonlyMap<string, string>) {
  const tracked = new Set(
    git(repository, 'ls-tree', '-r', '--name-only', '-z', 'HEAD').split('\0'),
  );
  const lines = new Map<string, number>();
  const linesOf = (path: string) => {
    const known =
      lines.get(path) ?? readFileSync(join(repository, path), 'utf8').split('\n').length;
    lines.set(path, known);
    return known;
  };
  const wrong: string[] = [];
  let count = 0;
  for (const [name, text] of notes)
    for (const [, path = '', line] of text.matchAll(citations)) {
      count++;
      if (!tracked.has(path) || Number(line) < 1 || Number(line) > linesOf(path))
        wrong.push(`${name}: ${path}:${line}`);
    }
  return { wrong, count };
}
