import { z } from 'zod';
import type { CommitClock, CommitFiles, CommitNotes } from './commit-types.ts';
import {
  type CommitModels,
  type DescriberCounts,
  createDescriber,
} from './model/describe-modules.ts';
import { estimateTokens, promptCharacters, system } from './model/prompt.ts';
import { createParserThread } from './outline/parser-thread.ts';
import { excludedByContent } from './project/exclusions.ts';
import type { CodeModule, Project } from './project/project-types.ts';
import { maxFileBytes, readProject } from './read-project.ts';
import { type WrittenNotes, writeNotes } from './write-notes.ts';

/** Input of the process that documents a commit. */
export const orderSchema = z.object({
  name: z.string(),
  /** Path of the repository. */
  root: z.string(),
  commit: z.string(),
  limits: z.object({ maxFiles: z.number(), maxBytes: z.number() }),
  /** Vault as shown to users, such as its path. */
  place: z.string(),
  isDryRun: z.boolean(),
  /** Time in ISO 8601. */
  generatedAt: z.string(),
  /** Model that describes modules; undefined to use none. */
  model: z.string().optional(),
  isModelWanted: z.boolean(),
});

export type DocumentationOrder = z.output<typeof orderSchema>;

export type CommitNeeds = {
  readonly repository: CommitFiles;
  readonly vault: CommitNotes;
  readonly models: CommitModels;
  readonly clock: CommitClock;
  /** Called after each piece of work. */
  readonly pace: () => void;
  readonly report: (step: string, text: string) => void;
};

/** Reads a commit, and writes the notes that changed into the vault. Resolves with the result of the job. */
export async function documentCommit(
  order: DocumentationOrder,
  { repository, vault, models, clock, pace, report }: CommitNeeds,
): Promise<Readonly<Record<string, unknown>>> {
  const { model, isDryRun } = order;
  const project = await read();
  report('compare', `Comparing ${project.modules.length} modules with ${order.place}`);
  const describer =
    model === undefined
      ? undefined
      : await createDescriber(model, { models, readFiles: readTexts });
  let described = 0;
  const written = await writeNotes(
    { project, vault, isDryRun, generatedAt: order.generatedAt, model },
    {
      async describe(module) {
        report(`describe ${++described}`, `${model} describes ${module.folder}`);
        return await describer?.describe(module);
      },
      pace,
      progress: (step, done, all) => report(`${step} ${done}`, `Module ${done} of ${all}`),
    },
  );
  return {
    ...resultOf(project, order, written),
    model: model ?? null,
    ...(model === undefined && {
      note: `written without a model: outlines, comments and imports only${order.isModelWanted ? '. Set OLLAMA_HOST, or name a model' : ''}`,
    }),
    ...(describer && !isDryRun && countsOf(describer.counts)),
    ...(isDryRun &&
      model !== undefined && { estimated_tokens: await estimate(model, written.toDescribe) }),
  };

  async function read(): Promise<Project> {
    await using parser = createParserThread({ clock });
    return await readProject(
      { repository, ...order },
      {
        parser,
        pace,
        progress: (done, all) => report(`read ${done}`, `Read ${done} of ${all} files`),
      },
    );
  }

  async function readTexts(paths: readonly string[]) {
    const limits = { fileBytes: maxFileBytes, maxBytes: 2 * 2 ** 20 };
    const files = await repository.readFiles(paths, limits);
    return files.flatMap(file =>
      file.kind === 'text' && !excludedByContent(file.path, file.text)
        ? [{ path: file.path, text: file.text }]
        : [],
    );
  }

  /** Estimates the tokens of all prompts. As in the prompts, the code of a module is limited by the context. */
  async function estimate(wanted: string, modules: readonly CodeModule[]): Promise<number> {
    const most = promptCharacters(await models.contextTokens(wanted));
    const characters = modules.map(({ files }) =>
      Math.min(
        most,
        files.reduce((sum, { bytes, lines }) => sum + bytes + 6 * lines, 0),
      ),
    );
    return estimateTokens(characters.reduce((sum, length) => sum + length + system.length, 0));
  }
}

const maxNames = 40;
/** Maximum length of a list of names as JSON, in characters. A job's result has four, and is omitted above 8,000. */
const maxListLength = 1_500;

function shownNames(names: readonly string[]): readonly string[] {
  let length = 0;
  const shown = names
    .slice(0, maxNames)
    .filter(name => (length += JSON.stringify(name).length + 1) <= maxListLength);
  return shown.length < names.length
    ? [...shown, `and ${names.length - shown.length} others`]
    : shown;
}

function resultOf(
  project: Project,
  { place, isDryRun }: DocumentationOrder,
  written: WrittenNotes,
) {
  const { byAction, removed, kept } = written;
  const secrets = project.excluded.filter(({ reason }) => reason === 'secret');
  return {
    project: project.name,
    vault: place,
    commit: project.commit,
    dry_run: isDryRun,
    modules: project.modules.length,
    files: project.modules.reduce((sum, { files }) => sum + files.length, 0),
    excluded_files: project.excluded.length,
    secrets_excluded: shownNames(secrets.map(({ path }) => path)),
    created: byAction.create.length,
    replaced: byAction.replace.length,
    kept,
    removed: removed.length,
    written: shownNames([...byAction.create, ...byAction.replace]),
    edited_by_hand: shownNames(byAction.beside),
    conflicts: shownNames(byAction.conflict),
  };
}

const countsOf = ({ described, removedCitations, droppedClaims, failure }: DescriberCounts) => ({
  described,
  citations_removed: removedCitations,
  claims_dropped: droppedClaims,
  ...(failure !== undefined && { model_failure: failure }),
});
