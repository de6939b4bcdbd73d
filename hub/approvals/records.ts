import { isObject } from '#core';
import type { ApprovalState } from './next.ts';

/** The call that an approval is about. */
export type ConfirmedCall = {
  /** Key of the principal (`principalKey`). */
  readonly caller: string;
  /** Name of the principal in the policy. */
  readonly client: string;
  readonly server: string;
  /** Digest of the package, image, command or URL in the config entry of the server. */
  readonly entry: string;
  /** The tool's name on /mcp. */
  readonly tool: string;
  /** The server's own name of the tool. */
  readonly ownTool: string;
  /** SHA-256 of the canonical final arguments, in hex. */
  readonly hash: string;
};

export type Approval = ConfirmedCall & {
  readonly id: string;
  /** The arguments as people see them: without secrets, and truncated. */
  readonly shown: string;
  /** Path of the rule in the config that asks for the approval. */
  readonly rule: string | undefined;
  readonly reason: string | undefined;
  readonly createdAt: number;
  readonly state: ApprovalState;
};

/** Approves every call of a client to a tool, whatever its arguments. */
export type StandingApproval = Omit<ConfirmedCall, 'hash'> & {
  readonly id: string;
  readonly createdAt: number;
  readonly by: string;
};

/** A line of the journal. The last line about an id is valid. */
export type ApprovalRecord =
  | { readonly approval: Approval }
  | { readonly standing: StandingApproval }
  | { readonly removed: string };

/** Returns a key that is equal for equal calls: same caller, server, tool and arguments. */
export const callKey = ({ caller, server, entry, ownTool, hash }: ConfirmedCall): string =>
  JSON.stringify([caller, server, entry, ownTool, hash]);

/** Returns a key that is equal for calls of the same client to the same tool. */
export const toolKey = ({ caller, server, entry, ownTool }: Omit<ConfirmedCall, 'hash'>): string =>
  JSON.stringify([caller, server, entry, ownTool]);

/** Parses a line of the journal. Returns undefined for an incomplete record, which approves nothing. */
export function parseRecord(value: unknown): ApprovalRecord | undefined {
  if (!isObject(value)) return undefined;
  if (typeof value['removed'] === 'string') return { removed: value['removed'] };
  const approval = parseApproval(value['approval']);
  if (approval) return { approval };
  const standing = parseStanding(value['standing']);
  return standing && { standing };
}

function parseCall(value: unknown) {
  if (!isObject(value)) return undefined;
  const { id, caller, client, server, entry, tool, ownTool, createdAt } = value;
  return isText(id) &&
    isText(caller) &&
    isText(client) &&
    isText(server) &&
    isText(entry) &&
    isText(tool) &&
    isText(ownTool) &&
    typeof createdAt === 'number'
    ? { id, caller, client, server, entry, tool, ownTool, createdAt }
    : undefined;
}

function parseApproval(value: unknown): Approval | undefined {
  const call = parseCall(value);
  const { hash, shown, rule, reason, state: written } = isObject(value) ? value : {};
  const state = parseState(written);
  if (!call || !state || !isText(hash) || !isText(shown)) return undefined;
  return {
    ...call,
    hash,
    shown,
    rule: isText(rule) ? rule : undefined,
    reason: isText(reason) ? reason : undefined,
    state,
  };
}

function parseStanding(value: unknown): StandingApproval | undefined {
  const call = parseCall(value);
  const { by } = isObject(value) ? value : {};
  return call && isText(by) ? { ...call, by } : undefined;
}

/** Parses a state of an approval. The journal contains only states that are not final. */
function parseState(value: unknown): ApprovalState | undefined {
  const { kind, expiresAt, by } = isObject(value) ? value : {};
  if (typeof expiresAt !== 'number') return undefined;
  if (kind === 'pending') return { kind, expiresAt };
  return (kind === 'approved' || kind === 'denied') && isText(by)
    ? { kind, expiresAt, by }
    : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
