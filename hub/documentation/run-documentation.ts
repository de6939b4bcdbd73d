import type { DocumentationConfig } from '#config';
import { type Clock, HubError, createAbortScope } from '#core';
import type { Principal } from '#policy';
import type { Repositories } from '#repositories';
import type { DocumentationModels } from './model/describe-modules.ts';
import type { DocumentationRequest } from './request.ts';
import { createAnswers } from './process/answers.ts';
import { runInProcess } from './process/run-in-process.ts';
import { chooseVault } from './vault/choose-vault.ts';
import { openVault } from './vault/open-vault.ts';

export type RunNeeds = {
  readonly clock: Clock;
  readonly repositories: Pick<Repositories, 'open' | 'openFolder'>;
  readonly models: DocumentationModels;
  readonly redact: (text: string) => string;
  /** Returns the current config. */
  readonly config: () => DocumentationConfig;
};

type DocumentationRun = {
  readonly request: DocumentationRequest;
  /** Principal of the job, with the grants of the caller who started it. */
  readonly principal: Principal;
  /** Commit of an interrupted run that is resumed; undefined means HEAD. */
  readonly commit: string | undefined;
};

const hourMs = 3_600_000;

type ReportStep = (step: string, text: string) => void;

/** Reads the repository, and writes the notes that changed into the vault. Resolves with the result of the job. */
export async function runDocumentation(
  { request, principal, commit: given }: DocumentationRun,
  needs: RunNeeds,
  report: ReportStep,
  onCommit: (commit: string) => Promise<unknown>,
  cancelling: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const { clock, repositories, models, redact } = needs;
  const config = needs.config();
  using limit = createAbortScope([cancelling], {
    clock,
    limitMs: config.maxMs,
    reason: () => tooLong(request.project_name, config.maxMs),
  });
  const { signal } = limit;
  await using vault = await openVault(
    chooseVault(request.vault, config),
    {
      isForced: request.force,
      target: request.dry_run ? undefined : request.project_name,
      principal,
    },
    { clock, repositories },
    signal,
  );
  report('open', `Opening ${request.repo_path}`);
  await using repository = await repositories.open(request.repo_path, principal, signal);
  const commit = given ?? (await repository.resolve('HEAD', signal));
  await onCommit(commit);
  // Only a request can choose the model of a provider, because a provider gets the code.
  const model =
    request.model === 'none' ? undefined : (request.model ?? (await models.defaultModel(signal)));
  return await runInProcess(
    {
      name: request.project_name,
      root: repository.root,
      commit,
      limits: { maxFiles: config.maxFiles, maxBytes: config.maxBytes },
      place: vault.place,
      isDryRun: request.dry_run,
      generatedAt: new Date(clock.now()).toISOString(),
      model,
      isModelWanted: request.model !== 'none',
    },
    createAnswers(
      { repository, commit, vault, client: principal.name },
      { models, redact, report },
    ),
    signal,
  );
}

const tooLong = (project: string, maxMs: number) =>
  new HubError(
    'HUB_REPOSITORY_LIMIT',
    `the documentation of ${project} took longer than documentation.max_hours (${Number((maxMs / hourMs).toPrecision(6))}): begin it again, which keeps the notes that are written, or raise the limit`,
  );
