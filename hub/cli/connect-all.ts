import { type ClientName, type ConnectPlan, type HubAddress, clients } from '#clients';
import { HubError } from '#core';
import { targetOf } from './client-change.ts';
import type { ExitCode, Run } from './command.ts';
import { isAgreed } from './confirm.ts';
import { reportChange, showChange, unchangedText } from './connect-change.ts';
import { notesFor } from './connect-notes.ts';
import { type OwnToken, warnOfReplaced } from './own-token.ts';
import { usageError } from './values.ts';

type Reach = { readonly hub: HubAddress; readonly own: OwnToken | undefined };

type Change = Reach & { readonly client: ClientName; readonly plan: ConnectPlan };

/** Result for one client's file, for `--json`. */
type Connected = {
  readonly client: ClientName;
  readonly file: string | undefined;
  readonly state: 'connected' | 'unchanged' | 'planned' | 'failed';
  readonly backup?: string | undefined;
  readonly why?: string;
};

/**
 * `agenthub connect --all`: adds the hub to the files of all clients of this machine, after one question. If one file
 * cannot be read or written, the remaining files are still written.
 */
export async function connectAll(
  hubFor: (client: ClientName) => Promise<Reach>,
  run: Run,
): Promise<ExitCode> {
  const { values, needs, isJson } = run;
  const other = ['client', 'file', 'workspace'].find(
    option => values[option] !== undefined && values[option] !== false,
  );
  if (other !== undefined)
    throw usageError(
      `--all: cannot be combined with ${other === 'client' ? 'a client' : `--${other}`}. Remove one of them`,
    );
  const all = await needs.openClients();
  const done: Connected[] = [];
  const changes: Change[] = [];
  const attempt = async (
    client: ClientName,
    file: string | undefined,
    work: () => Promise<void>,
  ) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      done.push({ client, file, state: 'failed', why: error.message });
      run.err(run.errorScreen.foreign(`${clients[client].title}: ${error.message}`));
    }
  };
  for (const client of await all.installed())
    await attempt(client, undefined, async () => {
      const reach = await hubFor(client);
      const plan = await all.planConnect(targetOf(client, values), reach.hub);
      const { file } = plan;
      if (plan.after === plan.before) {
        done.push({ client, file, state: 'unchanged' });
        if (!isJson) run.out(unchangedText(plan, client));
        return;
      }
      changes.push({ client, plan, ...reach });
      warnOfReplaced(reach.own, run);
      const change = plan.before === undefined ? ' (new)' : '';
      if (!isJson) showChange(plan, change, client, reach.hub, run);
    });
  const files = changes.map(({ plan }) => plan.file).join(', ');
  const isWriting = changes.length > 0 && (await isAgreed(`Write ${files}?`, run));
  for (const { client, plan, hub, own } of changes)
    await attempt(client, plan.file, async () => {
      if (isWriting) await own?.register();
      const backup = isWriting ? await all.carryOut(plan) : undefined;
      const state = isWriting ? ('connected' as const) : ('planned' as const);
      done.push({ client, file: plan.file, state, backup });
      if (isJson || !isWriting) return;
      reportChange('wrote', plan.file, backup, run);
      const notes = notesFor(client, hub, {
        own,
        login: values['login'] === true ? plan.name : undefined,
      });
      for (const note of notes) run.remark('note', note);
      run.out(clients[client].next);
    });
  const code = done.some(({ state }) => state === 'failed') ? 1 : 0;
  if (isJson) run.json(done);
  else if (done.length === 0) run.out('No client was found on this machine.');
  else if (changes.length > 0 && !isWriting) run.out('Nothing was written.');
  return code;
}
