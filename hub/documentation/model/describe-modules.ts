import { HubError, messageOf } from '#core';
import type { Description } from '../notes/note-types.ts';
import type { CodeModule } from '../project/project-types.ts';
import { type ShownFile, promptCharacters, promptFor, system } from './prompt.ts';
import { readClaims } from './read-claims.ts';

/** A question about a module. */
type ModulePrompt = {
  readonly model: string;
  readonly system: string;
  readonly prompt: string;
};

/** Models of the hub, as this room uses them. */
export interface DocumentationModels {
  /** The model of runs that name none: a local one, undefined if none answers. */
  defaultModel(signal: AbortSignal): Promise<string | undefined>;
  contextTokens(model: string): Promise<number | undefined>;
  /** Rejects with HubError. */
  chat(request: ModulePrompt & { readonly client: string }, signal: AbortSignal): Promise<string>;
}

/** Models, as they are asked about the modules of a commit. */
export type CommitModels = {
  contextTokens(model: string): Promise<number | undefined>;
  chat(request: ModulePrompt): Promise<string>;
};

type DescriberCounts = {
  described: number;
  removedCitations: number;
  droppedClaims: number;
  /** Why the last module has no description. */
  failure: string | undefined;
};

type Needs = {
  readonly models: CommitModels;
  readonly readFiles: (paths: readonly string[]) => Promise<readonly ShownFile[]>;
};

const usualContextTokens = 8_192;
/** After so many failures in a row the rest of the notes is written without the model. */
const maxFailures = 3;

/** Creates what asks a model about one module after the other. */
export async function createDescriber(model: string, { models, readFiles }: Needs) {
  const characters = promptCharacters((await models.contextTokens(model)) ?? usualContextTokens);
  const counts: DescriberCounts = {
    described: 0,
    removedCitations: 0,
    droppedClaims: 0,
    failure: undefined,
  };
  let failures = 0;

  return {
    counts,
    /** Undefined if the model is not asked any more, failed, or said nothing that can be shown. */
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
