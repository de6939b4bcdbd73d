import { join } from 'node:path';
import { type Config, readDocumentation } from '#config';
import { isObject } from '#core';
import { type Documentation, type DocumentationModels, createDocumentation } from '#documentation';
import type { Jobs } from '#jobs';
import type { Repositories } from '#repositories';
import { type Backlog, createTable } from '#store';
import type { System } from './system.ts';
import type { ModelAccess } from './wire-models.ts';

type Needs = Pick<System, 'clock' | 'log'> & {
  readonly redact: (text: string) => string;
  readonly backlog: Backlog;
  readonly jobs: Jobs;
  readonly repositories: Repositories;
  readonly models: ModelAccess;
  /** Returns the active config. */
  readonly config: () => Pick<Config, 'documentation'>;
};

/** File in the data folder with the requests of running jobs. */
const file = 'documentation.json';
const maxStored = 20;
const usual = readDocumentation(undefined).documentation;

/** True if the documentation is offered to clients: the config names repositories or vaults. */
export const isDocumenting = ({
  repositories,
  documentation,
}: Pick<Config, 'documentation' | 'repositories'>): boolean =>
  documentation !== undefined || (repositories?.length ?? 0) > 0;

/** Creates the documentation. Its unfinished jobs resume when the jobs service starts. */
export function wireDocumentation(dataDir: string, needs: Needs): Documentation {
  const { clock, redact, jobs, repositories, models, config } = needs;
  return createDocumentation({
    clock,
    redact,
    jobs,
    repositories,
    models: modelsFor(models),
    config: () => config().documentation ?? usual,
    store: createTable({ file: join(dataDir, file), maxEntries: maxStored }, needs),
  });
}

const maxAnswerTokens = 1_200;

/** Returns the chat models, which write the descriptions of modules. */
const modelsFor = (models: ModelAccess): DocumentationModels => ({
  async defaultModel(signal) {
    const { defaultModel } = models;
    if (defaultModel === undefined) return undefined;
    return (await (await models.open()).chats.isLocal(defaultModel, signal))
      ? defaultModel
      : undefined;
  },
  findFault: async (model, signal) => await (await models.open()).chats.findFault(model, signal),
  contextTokens: model => models.contextTokens(model),
  async chat({ model, system, prompt, client }, signal) {
    const answer = await models.sampling.answer(
      {
        systemPrompt: system,
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: maxAnswerTokens,
        temperature: 0,
      },
      { caller: { client }, model },
      signal,
    );
    const content = answer['content'];
    const text = isObject(content) ? content['text'] : undefined;
    return typeof text === 'string' ? text : '';
  },
});
