import { clients } from '#clients';
import {
  type ClientCommandNeeds,
  changeOptions,
  clientOf,
  clientPositional,
  isAgreed,
  showDifference,
  targetOf,
  targetOptions,
} from '../client-change.ts';
import type { Command } from '../command.ts';
import { type HubNeeds, hubOptions } from '../hub-client.ts';
import { asJson, textOf, wordOf } from '../values.ts';
import { differenceIn } from './connect.ts';

/** `agenthub disconnect`: removes the hub from a client's config file. */
export function createDisconnect(needs: HubNeeds & ClientCommandNeeds): Command {
  return {
    name: 'disconnect',
    summary: 'Remove the hub from the config of a client.',
    positionals: [clientPositional],
    options: { ...targetOptions, url: hubOptions.url, ...changeOptions },
    details: [
      'If the file has not changed since "connect", it is restored byte for byte, or deleted if it did not exist before. Otherwise only the entry is removed, and an entry that it replaced is restored.',
      '--json prints {"client", "file", "name", "state": "disconnected" | "unchanged" | "planned", "restored", "backup"}.',
    ],
    examples: [
      ['disconnect claude-code', 'Show the change, ask, and write it'],
      ['disconnect vscode --workspace --yes', 'For this folder, without asking'],
    ],
    async run(values, io) {
      const { out, screen } = io;
      const client = clientOf(wordOf(values, 'client'));
      const { title } = clients[client];
      const isJson = values['json'] === true;
      if (client === 'raycast') {
        if (isJson) out(asJson({ client, state: 'unchanged' }));
        else out('Raycast manages its servers itself: remove it there with "Manage MCP Servers".');
        return 0;
      }
      const hub = await needs.findHub(textOf(values, 'url'));
      const all = await needs.openClients();
      const plan = await all.planDisconnect(targetOf(client, values), hub);
      const { file, name, before, after } = plan;
      if (after === before) {
        const others = plan.others.map(other => `"${other}"`).join(', ');
        const hint = others === '' ? '' : `. The hub is there as ${others}: add --name`;
        if (isJson) out(asJson({ client, file, name, state: 'unchanged', others: plan.others }));
        else out(`${title} has no "${name}" in ${file}${hint}`);
        return 0;
      }
      if (!isJson) {
        const what = after === undefined ? ' (goes, as "connect" has made it)' : '';
        out(screen.paint('bold', `${title}: ${file}${what}`));
        showDifference(
          differenceIn(plan, client, { ...hub, bridge: await needs.findBridge() }),
          io,
        );
      }
      const isWritten = await isAgreed(`Write ${file}?`, values, needs, io);
      const backup = isWritten ? await all.carryOut(plan) : undefined;
      const restored = after === undefined || plan.restores.length > 0;
      if (isJson) {
        const state = isWritten ? 'disconnected' : 'planned';
        out(
          asJson({ client, file, name, state, restored, ...(backup !== undefined && { backup }) }),
        );
      } else if (isWritten) {
        const copy = backup === undefined ? '' : `; as it was: ${backup}`;
        const done = after === undefined ? 'removed' : restored ? 'restored' : 'wrote';
        out(`${screen.paint('green', done)} ${file}${copy}`);
      } else out('Nothing was written.');
      return 0;
    },
  };
}
