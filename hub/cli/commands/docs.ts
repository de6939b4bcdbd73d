import { basename, resolve } from 'node:path';
import { HubError, isObject } from '#core';
import { type Command, type ExitCode, type Run, hubOptions } from '../command.ts';
import { type HubClient, openHub } from '../hub-client.ts';
import { fieldsOf, scalarText, textsIn } from '../responses.ts';
import { textOf } from '../values.ts';
import { followJob } from './jobs.ts';

/** `agenthub docs`: documents a repository as notes of Obsidian. */
export const docs: Command = {
  name: 'docs',
  summary: 'Document a git repository as notes in an Obsidian vault.',
  positionals: [
    {
      name: 'repository',
      help: 'Top folder of the repository. Default: the current folder.',
      count: 'optional',
      completion: 'file',
    },
  ],
  options: {
    name: {
      value: 'name',
      help: 'Name of the project, and of its folder in the vault. Default: the name of the folder.',
    },
    vault: {
      value: 'folder',
      completion: 'file',
      help: 'The vault: a folder, or "obsidian" for the Local REST API plugin. Default: that of the config.',
    },
    model: {
      value: 'name',
      help: 'A model of Ollama, "provider/model", or "none". Default: OLLAMA_MODEL.',
    },
    'dry-run': { help: 'Show what would be written, with an estimate of tokens.' },
    force: { help: 'Write into a folder that has no .obsidian.' },
    'no-wait': { help: 'Print the id of the job, and do not wait for its end.' },
    ...hubOptions,
  },
  details: [
    'Documents the commit that is checked out (HEAD), not uncommitted changes. Notes that did not change are not written again. A note that was edited by hand is kept, and the new one is written beside it as NAME.new.md.',
    '--json prints the job as GET /jobs/{id} answers it; its "result" says what was written.',
  ],
  examples: [
    ['docs --vault ~/notes', 'Document the repository in the current folder'],
    ['docs ~/projects/app --name app --dry-run', 'Show what would be written'],
  ],
  async run(run) {
    const { values, out } = run;
    const repository = resolve(textOf(values, 'repository') ?? '.');
    const vault = textOf(values, 'vault');
    const model = textOf(values, 'model');
    const hub = await openHub(run);
    const accepted = await hub
      .ask({
        method: 'POST',
        path: '/pipelines/documentation',
        body: {
          repo_path: repository,
          project_name: textOf(values, 'name') ?? basename(repository),
          ...(vault !== undefined && { vault: vault === 'obsidian' ? vault : resolve(vault) }),
          ...(model !== undefined && { model }),
          dry_run: values['dry-run'] === true,
          force: values['force'] === true,
        },
      })
      .catch((error: unknown) => {
        throw inOptions(error);
      });
    const job = String(fieldsOf(accepted)['job_id']);
    if (values['no-wait'] === true) {
      if (run.isJson) return run.json({ job_id: job });
      out(job);
      return 0;
    }
    if (!run.isJson) out(`Documenting ${repository} (job ${job})`);
    return await waitFor(job, hub, run);
  },
};

const optionsByMember: ReadonlyMap<string, string> = new Map([
  ['project_name', '--name'],
  ['vault', '--vault'],
  ['model', '--model'],
]);

/** Names the option of this command in a refusal that begins with a member of the request. */
function inOptions(error: unknown): unknown {
  if (!(error instanceof HubError)) return error;
  const { code, message, data } = error;
  const [member = ''] = message.split(':', 1);
  const option = optionsByMember.get(member);
  if (option === undefined) return error;
  return new HubError(code, `${option}${message.slice(member.length)}`, { cause: error, data });
}

async function waitFor(id: string, hub: HubClient, run: Run): Promise<ExitCode> {
  const path = `/jobs/${encodeURIComponent(id)}`;
  // Show steps only on a terminal: in a pipe, each batch of files would print a line.
  const code = await followJob(hub, id, {
    ...run,
    isJson: false,
    out: run.isJson ? () => {} : run.progress,
  });
  // Only the owner may read the result.
  const job = fieldsOf(await hub.ask({ method: 'GET', path }).catch(() => undefined)); // This user is not the owner.
  if (run.isJson) {
    run.json(Object.keys(job).length > 0 ? job : { id });
    return code;
  }
  const { result } = job;
  if (code === 0 && isObject(result))
    for (const line of linesOf(result)) run.out(run.screen.foreign(line));
  return code;
}

/** Returns lines for people that describe the result of a run. */
function linesOf(result: { readonly [key: string]: unknown }): readonly string[] {
  const text = (key: string) => scalarText(result[key]);
  const number = (key: string) => Number(text(key));
  const names = (key: string) => textsIn(result[key]);
  const isDryRun = result['dry_run'] === true;
  const verb = isDryRun ? 'Would write' : 'Wrote';
  const list = (title: string, key: string) =>
    names(key).length > 0 ? [`${title}:`, ...names(key).map(name => `  ${name}`)] : [];
  return [
    `${verb} ${number('created')} new and ${number('replaced')} changed notes in ${text('vault')}; ${number('kept')} did not change, ${number('removed')} ${isDryRun ? 'would be' : 'were'} removed.`,
    ...(isDryRun ? list('Notes', 'written') : []),
    ...list('Edited by hand, so the new note is beside it', 'edited_by_hand'),
    ...list(
      'Kept as they are, because both the note and the one beside it were edited',
      'conflicts',
    ),
    ...list('Left out, because they may hold secrets', 'secrets_excluded'),
    ...(result['model'] === null ? [text('note')] : [`Model: ${text('model')}`]),
    ...(result['estimated_tokens'] === undefined
      ? []
      : [`Estimated tokens of the model: ${text('estimated_tokens')}`]),
    ...(number('citations_removed') + number('claims_dropped') > 0
      ? [
          `Removed ${number('citations_removed')} citations that do not exist, and ${number('claims_dropped')} lines without any.`,
        ]
      : []),
    ...(result['model_failure'] === undefined
      ? []
      : [`Some notes have no text of the model: ${text('model_failure')}`]),
  ];
}
