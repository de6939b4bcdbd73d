import { type NamedClients, createAuthorization } from '#access';
import type { Audit } from '#audit';
import type { Clock, Log } from '#core';
import type { DataDir } from '#store';

type Needs = {
  readonly dataDir: Pick<DataDir, 'secret'>;
  readonly clients: NamedClients;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Pick<Audit, 'recordChange'>;
};

/** Creates the authorization server of the hub. Its decisions are recorded in the audit log. */
export const wireAuthorization = ({ dataDir, audit, ...needs }: Needs) =>
  createAuthorization(dataDir, {
    ...needs,
    audit: ({ principal, ...line }) => audit.recordChange({ ...line, principal, outcome: 'ok' }),
  });
