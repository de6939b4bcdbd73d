import type { DocumentationConfig } from '#config';
import type { Clock } from '#core';
import type { Principal } from '#policy';
import type { Repositories } from '#repositories';
import { type DocumentationModels, createDescriber } from './model/describe-modules.ts';
import { estimateTokens, promptCharacters, system } from './model/prompt.ts';
import { createParserThread } from './outline/parser-thread.ts';
import { excludedByContent } from './project/exclusions.ts';
import type { CodeModule, Project } from './project/project-types.ts';
import { maxFileBytes, readProject } from './read-project.ts';
import type { DocumentationRequest } from './request.ts';
import { chooseVault } from './vault/choose-vault.ts';
import { openVault } from './vault/open-vault.ts';
import type { NoteVault } from './vault/vault-types.ts';
import { type WrittenNotes, writeNotes } from './write-notes.ts';

export type RunNeeds = {
  readonly clock: Clock;
  readonly repositories: Pick<Repositories, 'open' | 'openFolder'>;
  readonly models: DocumentationModels;
  readonly redact: (text: string) => string;
  /** The config in force. */
  readonly config: () => DocumentationConfig;
};

export type DocumentationRun = {
  readonly request: DocumentationRequest;
  /** The job, with the grants of who began it. */
  readonly principal: Principal;
  /** The commit of an earlier run that was cut off; undefined: HEAD. */
  readonly commit: string | undefined;
};

export type ReportStep = (step: string, text: string) => void;

/** Reads the repository, and writes what changed into the vault. Returns the result of the job. */
export async function runDocumentation(
  { request, principal, commit: given }: DocumentationRun,
  needs: RunNeeds,
  report: ReportStep,
  onCommit: (commit: string) => Promise<unknown>,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const { clock, repositories, models, redact } = needs;
  const config = needs.config();
  await using vault = await openVault(
    chooseVault(request.vault, config),
    { isForced: request.force, principal },
    { clock, repositories },
    signal,
  );
  report('open', `Opening ${request.repo_path}`);
  await using repository = await repositories.open(request.repo_path, principal, signal);
  const commit = given ?? (await repository.resolve('HEAD', signal));
  await onCommit(commit);
  const project = await read();
  const model = await modelOf(request.model, models, signal);
  report('compare', `Comparing ${project.modules.length} modules with ${vault.place}`);
  const describer =
    model === undefined
      ? undefined
      : await createDescriber(model, principal.name, {
          models,
          redact,
          readFiles: async (paths, ending) => await readTexts(paths, ending),
        });
  let described = 0;
  const written = await writeNotes(
    {
      project,
      vault,
      isDryRun: request.dry_run,
      generatedAt: new Date(clock.now()).toISOString(),
      model,
    },
    {
      async describe(module, ending) {
        report(`describe ${++described}`, `${model} describes ${module.folder}`);
        return await describer?.describe(module, ending);
      },
      progress: (step, done, all) => report(`${step} ${done}`, `Module ${done} of ${all}`),
    },
    signal,
  );
  return {
    ...resultOf(project, vault, written, request.dry_run),
    model: model ?? null,
    ...(model === undefined && {
      note: `written without a model: outlines, comments and imports only${request.model === 'none' ? '' : '. Set OLLAMA_HOST, or name a model'}`,
    }),
    ...(describer && !request.dry_run && countsOf(describer.counts)),
    ...(request.dry_run &&
      model !== undefined && { estimated_tokens: await estimate(model, written.toDescribe) }),
  };

  async function read(): Promise<Project> {
    await using parser = createParserThread({ clock });
    return await readProject(
      { repository, commit, name: request.project_name, limits: config },
      { parser, progress: (done, all) => report(`read ${done}`, `Read ${done} of ${all} files`) },
      signal,
    );
  }

  async function readTexts(paths: readonly string[], ending: AbortSignal) {
    const limits = { fileBytes: maxFileBytes, maxBytes: 2 * 2 ** 20 };
    const files = await repository.readFiles(commit, paths, limits, ending);
    return files.flatMap(file =>
      file.kind === 'text' && !excludedByContent(file.path, file.text)
        ? [{ path: file.path, text: file.text }]
        : [],
    );
  }

  /** As prompts are built: no longer than the context allows. */
  async function estimate(wanted: string, modules: readonly CodeModule[]): Promise<number> {
    const most = promptCharacters((await models.contextTokens(wanted)) ?? 8_192);
    const characters = modules.map(({ files }) =>
      Math.min(
        most,
        files.reduce((sum, { bytes, lines }) => sum + bytes + 6 * lines, 0),
      ),
    );
    return estimateTokens(characters.reduce((sum, length) => sum + length + system.length, 0));
  }
}

/** A model of a provider is used only if the request names it: the code leaves the machine. */
async function modelOf(
  given: string | undefined,
  models: DocumentationModels,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (given === 'none') return undefined;
  return given ?? (await models.defaultModel(signal));
}

const maxNames = 40;

const shownNames = (names: readonly string[]) =>
  names.length > maxNames
    ? [...names.slice(0, maxNames), `and ${names.length - maxNames} others`]
    : names;

function resultOf(project: Project, vault: NoteVault, written: WrittenNotes, isDryRun: boolean) {
  const { byAction, removed, kept } = written;
  const secrets = project.excluded.filter(({ reason }) => reason === 'secret');
  return {
    project: project.name,
    vault: vault.place,
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

const countsOf = ({
  described,
  removedCitations,
  droppedClaims,
  failure,
}: Awaited<ReturnType<typeof createDescriber>>['counts']) => ({
  described,
  citations_removed: removedCitations,
  claims_dropped: droppedClaims,
  ...(failure !== undefined && { model_failure: failure }),
});
