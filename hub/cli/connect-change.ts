import {
  type ClientName,
  type Clients,
  type ConnectPlan,
  type HubAddress,
  clients,
  diffTexts,
  hubEntry,
} from '#clients';
import { stringsIn } from '#core';
import type { Run } from './command.ts';
import { isAgreed } from './confirm.ts';
import type { OwnToken } from './own-token.ts';
import type { Io } from './terminal.ts';

/** Shows the difference that a plan makes to a file. Shows only values of the hub's entry, without the token. */
export function showChange(
  plan: ConnectPlan,
  change: string,
  client: ClientName,
  hub: HubAddress,
  io: Io,
): void {
  io.out(io.screen.paint('bold', `${clients[client].title}: ${plan.file}${change}`));
  const own = stringsIn(hubEntry(client, hub)).filter(
    text => hub.token === undefined || !text.includes(hub.token),
  );
  for (const { sign, text } of diffTexts(plan.before ?? '', plan.after ?? '', own)) {
    const line = io.screen.foreign(sign === '@' ? text : sign + text);
    const style = styles[sign];
    io.out(style === undefined ? line : io.screen.paint(style, line));
  }
}

const styles = { '-': 'red', '+': 'green', '@': 'dim', ' ': undefined } as const;

/** Returns a sentence about a file that has the hub already. */
export const unchangedText = ({ name, file }: ConnectPlan, client: ClientName): string =>
  `${clients[client].title} already has the hub, as "${name}" in ${file}`;

/** Carries out a plan if the user agrees. Registers the token with the hub before the client can read it. */
export async function writeChange(plan: ConnectPlan, all: Clients, run: Run, own?: OwnToken) {
  const isWritten = await isAgreed(`Write ${plan.file}?`, run);
  if (isWritten) await own?.register();
  if (!isWritten && !run.isJson) run.out('Nothing was written.');
  return { isWritten, backup: isWritten ? await all.carryOut(plan) : undefined };
}

/** Prints which file was written and where its backup is. */
export function reportChange(done: string, file: string, backup: string | undefined, io: Io): void {
  const copy = backup === undefined ? '' : `; as it was: ${backup}`;
  io.out(`${io.screen.paint('green', done)} ${file}${copy}`);
}
