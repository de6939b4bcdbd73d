import { join } from 'node:path';
import { type AuditedChange, createAudit } from '#audit';
import { type Config, readAudit } from '#config';
import { type Clock, silent } from '#core';
import { syncFolder } from '#store';

type Needs = {
  readonly config: Pick<Config, 'audit'>;
  readonly clock: Clock;
  readonly hubVersion: string;
  /** Called with a message if a line cannot be written. The change itself was made. */
  readonly warn: (text: string) => void;
};

/**
 * Adds changes to the audit log of a hub that does not run, whose data folder the caller has locked. Does not redact
 * details, which contain only names.
 */
export function createStoredAudit(dataFolder: string, { config, warn, ...needs }: Needs) {
  const folder = join(dataFolder, 'audit');
  const options = config.audit ?? readAudit(undefined);
  const redaction = { text: (text: string) => text, json: (value: unknown) => value };
  return {
    /** Writes a line. Resolves when the line is written, and never rejects. */
    async record(change: Omit<AuditedChange, 'principal' | 'outcome'>): Promise<void> {
      const audit = createAudit(folder, () => options, {
        ...needs,
        log: silent,
        redaction,
        syncFolder,
      });
      audit.recordChange({ ...change, principal: 'owner', outcome: 'ok' });
      await audit.close();
      const status = await audit.status();
      if (status.kind === 'failing')
        warn(`this change has no line in the audit log, which cannot be written: ${status.reason}`);
    },
  };
}
