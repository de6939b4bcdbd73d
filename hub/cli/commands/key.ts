import { HubError } from '#core';
import type { Command } from '../command.ts';
import type { HubNeeds } from '../hub-client.ts';

export type KeyNeeds = HubNeeds & {
  /** The owner's key that a hub of this user stores, even if it does not run; undefined if there is none. */
  readonly findOwnerKey: (signal: AbortSignal) => Promise<string | undefined>;
};

/** `agenthub key`: prints the owner's key, for scripts that administer a hub. */
export function createKey({ findOwnerKey }: KeyNeeds): Command {
  return {
    name: 'key',
    summary: "Print the owner's key of the hub, for scripts that administer it over HTTP.",
    options: {},
    details: [
      'The hub makes the key at its first start and keeps it in DATA_DIR/owner-key. Anyone who has it can install servers, which run with your permissions. To replace it, delete that file and restart the hub.',
    ],
    examples: [
      [
        'key',
        'As in: curl -X POST -H "Authorization: Bearer $(npx agenthub key)" http://localhost:9090/config/reload',
      ],
    ],
    async run(_values, io) {
      const key = await findOwnerKey(io.signal);
      if (key === undefined)
        throw new HubError(
          'HUB_OWNER_ONLY',
          'no hub has created its key here. Run this in the folder where the hub was started, or start it with "agenthub serve"',
        );
      io.out(key);
      return 0;
    },
  };
}
