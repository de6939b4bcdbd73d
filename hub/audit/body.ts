import { hash } from 'node:crypto';

/** A call that was answered. */
export type AuditedCall = {
  readonly method: string;
  readonly name: string | undefined;
  readonly server: string | undefined;
  readonly session: string;
  readonly client: string | undefined;
  readonly at: number;
  readonly tookMs: number;
  readonly outcome: string;
  readonly decision?: { readonly action: string; readonly rule: string | undefined };
};

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

/** Longer texts of clients are cut, in characters. */
const maxText = 300;
/** Longer texts are left out, because they would be searched for secrets for too long, in characters. */
const maxRedacted = 256 * 1024;
/** Bound of the cache of quoted texts, which is cleared when full. */
const maxTexts = 2_000;
/** Longer details are left out, in characters. */
const maxDetails = 8_192;

/** Creates the functions that write the members of a line, without `seq` and `previous`. */
export function createBodies({ redaction }: BodyNeeds) {
  const known = new Map<string, string>();

  /** A text of a client as JSON, redacted and cut. Cached, because redaction costs more than the rest of a line. */
  function quoted(text: string): string {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (text.length > maxRedacted) return `"(${text.length} characters)"`;
    // Cut after redaction, which finds only whole secrets.
    const made = JSON.stringify(redaction.text(text).slice(0, maxText));
    if (text.length > maxText) return made;
    if (known.size >= maxTexts) known.clear();
    known.set(text, made);
    return made;
  }

  const member = (name: string, text: string | undefined) =>
    text === undefined ? '' : `,"${name}":${quoted(text)}`;

  let lastSecond = -1;
  let secondText = '';
  /** The time in UTC. Formats only the milliseconds if the second is that of the last line. */
  function timeOf(at: number): string {
    const whole = Math.floor(at);
    const second = Math.floor(whole / 1000);
    if (second !== lastSecond) {
      secondText = `"at":"${new Date(second * 1000).toISOString().slice(0, -4)}`;
      lastSecond = second;
    }
    return `${secondText}${String(whole - second * 1000).padStart(3, '0')}Z"`;
  }

  let last:
    { readonly call: AuditedCall; readonly principal: string; readonly text: string } | undefined;
  /** The members that consecutive calls of a client mostly share. */
  function whatOf(call: AuditedCall, principal: string): string {
    if (last && last.principal === principal && isSame(last.call, call)) return last.text;
    const { name, server, client, session, method } = call;
    const text =
      `,"kind":"call"${member('principal', principal)},"session":${JSON.stringify(session)}` +
      `${member('client', client)}${member('server', server)}${member('method', method)}` +
      member('name', name);
    // A copy, because the call refers to the buffers of its messages.
    last = { call: { ...noCall, name, server, client, session, method }, principal, text };
    return text;
  }

  return {
    /** `principal` is a policy name; `args` the text of the arguments as the client sent it. */
    call: (call: AuditedCall, principal: string, args: Buffer | undefined): string =>
      timeOf(call.at) +
      whatOf(call, principal) +
      (call.decision
        ? `${member('decision', call.decision.action)}${member('rule', call.decision.rule)}`
        : '') +
      (args ? `,"arguments_sha256":"${hash('sha256', args)}"` : '') +
      `${member('outcome', call.outcome)},"duration_ms":${Math.round(call.tookMs * 1000) / 1000}`,
    change({ action, principal, target, outcome, details }: AuditedChange, at: number): string {
      const text = details && JSON.stringify(redaction.json(details));
      const shown = text !== undefined && text.length > maxDetails ? '"too long"' : text;
      return (
        `${timeOf(at)},"kind":"change"${member('principal', principal)}${member('action', action)}` +
        `${member('target', target)}${shown === undefined ? '' : `,"details":${shown}`}` +
        member('outcome', outcome)
      );
    },
    refusal: (refusal: AuditedRefusal, at: number): string =>
      `${timeOf(at)},"kind":"refusal"${member('address', refusal.address)}` +
      `${member('method', refusal.method)}${member('path', refusal.path)},"status":${refusal.status}` +
      member('reason', refusal.reason) +
      (refusal.unlogged > 0 ? `,"unlogged_before":${refusal.unlogged}` : ''),
    /** A line of the log about itself. */
    log: (action: string, at: number, details: object): string =>
      `${timeOf(at)},"kind":"log",${JSON.stringify({ action, ...details }).slice(1, -1)}`,
    /** Drops the cache, because other secrets are known now. */
    forget() {
      known.clear();
      last = undefined;
    },
  };
}

const noCall = { at: 0, tookMs: 0, outcome: '' } as const;

const isSame = (one: AuditedCall, other: AuditedCall): boolean =>
  one.name === other.name &&
  one.session === other.session &&
  one.client === other.client &&
  one.server === other.server &&
  one.method === other.method;

export type Bodies = ReturnType<typeof createBodies>;
