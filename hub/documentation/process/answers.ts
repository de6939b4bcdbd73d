import type { Repository } from '#repositories';
import type { DocumentationModels } from '../model/describe-modules.ts';
import type { NoteVault } from '../vault/vault-types.ts';
import { params } from './ask.ts';
import type { Answers } from './run-in-process.ts';

type Run = {
  readonly repository: Pick<Repository, 'files' | 'readFiles'>;
  readonly commit: string;
  readonly vault: NoteVault;
  /** Name under which the run calls models. */
  readonly client: string;
};

type Needs = {
  readonly models: DocumentationModels;
  /** Removes secrets that the hub knows from a prompt. */
  readonly redact: (text: string) => string;
  readonly report: (step: string, text: string) => void;
};

/** Maximum number of files in an answer. A longer list would delay calls of clients. */
const filesAtOnce = 500;

/** Creates the functions that answer requests of a run's process: to its commit, its vault and the models. */
export function createAnswers(
  { repository, commit, vault, client }: Run,
  { models, redact, report }: Needs,
): Answers {
  let files: Awaited<ReturnType<Repository['files']>> | undefined;
  return {
    async files(given, signal) {
      const { from } = params.files.parse(given);
      files ??= await repository.files(commit, signal);
      const page = files.slice(from, from + filesAtOnce);
      if (page.length === 0) files = undefined; // The process has read all files.
      return page;
    },
    async readFiles(given, signal) {
      const { files: wanted, limits } = params.readFiles.parse(given);
      return await repository.readFiles(commit, wanted, limits, signal);
    },
    listNotes: async (given, signal) =>
      await vault.list(params.listNotes.parse(given).folder, signal),
    readNote: async (given, signal) => await vault.read(params.readNote.parse(given).path, signal),
    writeNotes: async (given, signal) =>
      await vault.write(params.writeNotes.parse(given).notes, signal),
    removeNote: async (given, signal) =>
      await vault.remove(params.removeNote.parse(given).path, signal),
    contextTokens: async given =>
      await models.contextTokens(params.contextTokens.parse(given).model),
    async chat(given, signal) {
      const { prompt, ...rest } = params.chat.parse(given);
      return await models.chat({ ...rest, prompt: redact(prompt), client }, signal);
    },
    async report(given) {
      const { step, text } = params.report.parse(given);
      report(step, text);
    },
  };
}
