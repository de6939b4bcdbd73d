import { HubError, messageOf } from '#core';
import type { Description } from '../notes/note-types.ts';
import type { CodeModule } from '../project/project-types.ts';
import { type ShownFile, promptCharacters, promptFor, system } from './prompt.ts';
import { readClaims } from './read-claims.ts';

/** Prompt about a module, and the model for it. */
type ModulePrompt = {
  readonly model: string;
  readonly system: string;
  readonly prompt: string;
};

/** The functions of the hub's models that the documentation uses. */
export interface DocumentationModels {
  /** Model of runs that do not name one: a local model; undefined if none answers. */
  defaultModel(signal: AbortSignal): Promise<string | undefined>;
  /** Returns why a model cannot be used, with the remedy; undefined if it can be used, or if that is unknown now. */
  findFault(model: string, signal: AbortSignal): Promise<string | undefined>;
  contextTokens(model: string): Promise<number | undefined>;
  /** Sends a prompt to a model, and resolves with its answer. Rejects with HubError. */
  chat(request: ModulePrompt & { readonly client: string }, signal: AbortSignal): Promise<string>;
}

/** The functions of models that the process of a run uses. */
export type CommitModels = {
  contextTokens(model: string): Promise<number | undefined>;
  chat(request: ModulePrompt): Promise<string>;
};

export type DescriberCounts = {
  described: number;
  removedCitations: number;
  droppedClaims: number;
  /** Reason why the last failed module has no description. */
  failure: string | undefined;
};

type Needs = {
  readonly models: CommitModels;
  readonly readFiles: (paths: readonly string[]) => Promise<readonly ShownFile[]>;
};

/** Number of consecutive failures after which the remaining notes are written without the model. */
const maxFailures = 3;

/** Creates a describer, which asks a model about one module at a time. */
export async function createDescriber(model: string, { models, readFiles }: Needs) {
  const characters = promptCharacters(await models.contextTokens(model));
  const counts: DescriberCounts = {
    described: 0,
    removedCitations: 0,
    droppedClaims: 0,
    failure: undefined,
  };
  let failures = 0;

  return {
    counts,
    /** Resolves with a description; undefined if the model failed, now or too often, or wrote nothing usable. */
    async describe(module: CodeModule): Promise<Description | undefined> {
      if (failures >= maxFailures) return undefined;
      const paths = module.files.map(({ path }) => path);
      const prompt = promptFor(module, await readFiles(paths), characters);
      try {
        const answer = await models.chat({ model, system, prompt });
        failures = 0;
        const linesOf = new Map(module.files.map(({ path, lines }) => [path, lines]));
        const { claims, removedCitations, droppedClaims } = readClaims(answer, linesOf);
        counts.removedCitations += removedCitations;
        counts.droppedClaims += droppedClaims;
        if (claims.length === 0) {
          counts.failure = `${model} wrote no line with a citation that exists about ${module.folder}`;
          return undefined;
        }
        counts.described++;
        return { model, claims };
      } catch (error) {
        if (!(error instanceof HubError)) throw error;
        failures++;
        counts.failure = messageOf(error);
        return undefined;
      }
    },
  };
}
