import { createCallBodies } from './call-lines.ts';
import { createTexts } from './texts.ts';

/** An administrative change. */
export type AuditedChange = {
  /** Name of the action, such as `server_restart`. */
  readonly action: string;
  /** Policy name of the principal who made the change; undefined for the hub itself and for edited files. */
  readonly principal: string | undefined;
  /** Name of the changed object, such as a server. */
  readonly target?: string | undefined;
  readonly outcome: string;
  /** Names of the changed settings, without values. Secrets are redacted. */
  readonly details?: object | undefined;
};

/** A request that was refused before it became a call. */
export type AuditedRefusal = {
  readonly address: string;
  /** Absent if the connection was refused before its first request. */
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly status: number;
  readonly reason: string;
  /** Number of refused requests since the last such line that got no line of their own. */
  readonly unlogged: number;
};

export type BodyNeeds = {
  readonly redaction: {
    readonly text: (text: string) => string;
    readonly json: (value: unknown) => unknown;
  };
};

/** Maximum length of the details of a change as JSON, in characters. Longer details are omitted. */
const maxDetails = 8_192;

/** Creates the functions that write the JSON members of audit lines, except `seq` and `previous`. */
export function createBodies({ redaction }: BodyNeeds) {
  const texts = createTexts(redaction.text);
  const { member } = texts;
  const calls = createCallBodies(texts);
  return {
    calls,
    change({ action, principal, target, outcome, details }: AuditedChange, at: number): Buffer {
      const text = details && JSON.stringify(redaction.json(details));
      const shown = text !== undefined && text.length > maxDetails ? '"too long"' : text;
      return Buffer.from(
        `${timeOf(at)},"kind":"change"${member('principal', principal)}${member('action', action)}` +
          `${member('target', target)}${shown === undefined ? '' : `,"details":${shown}`}` +
          member('outcome', outcome),
      );
    },
    refusal: (refusal: AuditedRefusal, at: number): Buffer =>
      Buffer.from(
        `${timeOf(at)},"kind":"refusal"${member('address', refusal.address)}` +
          `${member('method', refusal.method)}${member('path', refusal.path)},"status":${refusal.status}` +
          member('reason', refusal.reason) +
          (refusal.unlogged > 0 ? `,"unlogged_before":${refusal.unlogged}` : ''),
      ),
    /** Returns the members of a line about the audit log or the hub itself. */
    log: (action: string, at: number, details: object): Buffer =>
      Buffer.from(
        `${timeOf(at)},"kind":"log",${JSON.stringify({ action, ...details }).slice(1, -1)}`,
      ),
    /** Clears the caches of redacted texts. Call it when the hub learns of other secrets. */
    forget() {
      texts.forget();
      calls.forget();
    },
  };
}

const timeOf = (at: number): string => `"at":"${new Date(Math.floor(at)).toISOString()}"`;
