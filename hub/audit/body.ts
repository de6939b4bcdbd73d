import { createCallBodies } from './call-bodies.ts';
import { createTexts } from './texts.ts';

/** An administrative change. */
export type AuditedChange = {
  /** What was done, such as `server_restart`. */
  readonly action: string;
  /** Policy name of who did it; undefined for the hub itself and for edited files. */
  readonly principal: string | undefined;
  /** Name of what was changed, such as a server. */
  readonly target?: string | undefined;
  readonly outcome: string;
  /** What changed: names only. Secrets in it are redacted. */
  readonly details?: object | undefined;
};

/** A request that was refused before it became a call. */
export type AuditedRefusal = {
  readonly address: string;
  /** Absent: the connection was refused before its first request. */
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly status: number;
  readonly reason: string;
  /** Refused requests since the last line of this kind that have no line of their own. */
  readonly unlogged: number;
};

export type BodyNeeds = {
  readonly redaction: {
    readonly text: (text: string) => string;
    readonly json: (value: unknown) => unknown;
  };
};

/** Longer details are left out, in characters. */
const maxDetails = 8_192;

/** Creates the functions that write the members of a line, without `seq` and `previous`. */
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
    /** A line of the log about itself. */
    log: (action: string, at: number, details: object): Buffer =>
      Buffer.from(
        `${timeOf(at)},"kind":"log",${JSON.stringify({ action, ...details }).slice(1, -1)}`,
      ),
    /** Drops what was redacted, because other secrets are known now. */
    forget() {
      texts.forget();
      calls.forget();
    },
  };
}

const timeOf = (at: number): string => `"at":"${new Date(Math.floor(at)).toISOString()}"`;
