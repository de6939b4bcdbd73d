import { type Approval, type Approvals, type AskedCall, hashOf } from '#approvals';
import { type Clock, HubError, unlessAborted } from '#core';
import { entryDigestFor, visible } from '#definitions';
import {
  type Answer,
  dropMembers,
  encodeCall,
  encodeResult,
  membersOf,
  rpcCodes,
  valueOf,
} from '#jsonrpc';
import { invalidState, isStateless, metaKeys } from '#mcp';
import { policyNameOf, principalKey } from '#policy';
import { type ElicitationAnswer, answerIn, takesForms } from '#upstream';
import {
  type Answerer,
  type Call,
  type Reply,
  type ResolvedCall,
  type Step,
  hubReply,
  waitingMethod,
} from '../call.ts';
import { capabilitiesOf } from '../events/client-capabilities.ts';
import { type ClientRequests } from '../events/client-requests.ts';
import { refuseHeld } from '../held-items.ts';
import { throwIfCancelled, whileCancellable } from '../session.ts';
import { createConfirmStates } from './confirm-states.ts';
import { createContinuedCalls } from './continued-calls.ts';
import { finalArguments } from './final-arguments.ts';

type ConfirmNeeds = {
  /** Keeps the approvals. Absent: calls that a rule wants confirmed are refused. */
  readonly approvals: Approvals | undefined;
  readonly clientRequests: Pick<ClientRequests, 'sendToClient'>;
  readonly clock: Pick<Clock, 'now'>;
  /** A random key of this run of the hub, which signs `requestState`. */
  readonly key: Buffer;
};

/** The decision of a person about a call; undefined if there is none. */
type Outcome = Awaited<ReturnType<Approvals['admit']>>;

const method = 'elicitation/create';
/** Key of the question in `inputRequests`. */
const inputKey = 'approval';
const answerMembers = new Set(['requestState', 'inputResponses']);

/**
 * Creates the step for calls that a rule wants confirmed: holds each until a person approves exactly this call. Comes
 * after the step that improves prompts, so that people decide about the final arguments. Asks the user of the client
 * if the client supports questions: in its session, or by `input_required` (MCP 2026-07-28). Refuses other calls with
 * an id for `agenthub approve`; calls of agents wait for the owner first.
 */
export const createConfirmStep = (needs: ConfirmNeeds): Step =>
  needs.approvals ? createHold(needs.approvals, needs) : refuse;

function refuse(): never {
  throw new HubError(
    'HUB_APPROVAL_NEEDED',
    'a rule asks a person about this call, and this hub keeps no approvals',
  );
}

function createHold(approvals: Approvals, { clientRequests, clock, key }: ConfirmNeeds) {
  const states = createConfirmStates(key, clock);
  const continued = createContinuedCalls(clock);

  /** Applies the answer of a stateless client to the question about its call. */
  async function applyAnswer(call: Call, id: string, asked: AskedCall): Promise<void> {
    const { request, params } = call;
    const responses = membersOf(request.bytes, params.get('inputResponses'));
    const answer = answerIn(valueOf(request.bytes, responses?.get(inputKey)));
    if (!approvals.list().some(one => one.id === id)) throw invalidState('was used already');
    if (answer?.action === 'accept') await approvals.approve(id, asked.client);
    else if (answer) throw declined(asked, id, answer);
    else approvals.withdraw(id);
  }

  /** Records that the user of the client did not accept a call, and returns the error. */
  function declined(asked: AskedCall, id: string, { action }: ElicitationAnswer): HubError {
    approvals.decline(id, asked.client, action);
    return deniedBy(asked, `the user of the client answered "${action}"`);
  }

  /** Asks the user in the session of a client, unless the owner of the hub decides first. */
  async function askSession(call: Call, asked: AskedCall): Promise<Outcome> {
    const approval = await approvals.ask(asked, false);
    const over = new AbortController();
    let cancel: ((reason: string) => void) | undefined;
    try {
      const answer = await whileCancellable(call, signal => {
        const params = JSON.stringify(questionAbout(approval));
        const { session, responseStream } = call;
        const sent = clientRequests.sendToClient(session, method, params, responseStream);
        cancel = reason => sent.cancel(reason);
        const elsewhere = approvals.wait(approval.id, over.signal).then(() => undefined);
        return unlessAborted(Promise.race([sent.answer.then(inSession), elsewhere]), signal);
      });
      throwIfCancelled(call);
      if (answer?.action === 'accept') await approvals.approve(approval.id, asked.client);
      else if (answer) throw declined(asked, approval.id, answer);
      return await approvals.admit(asked);
    } finally {
      approvals.withdraw(approval.id);
      over.abort();
      cancel?.('it is no longer needed');
    }
  }

  /** Waits until the owner of the hub decides about a call of an agent. */
  async function waitForOwner(call: Call, asked: AskedCall): Promise<Outcome> {
    const { id } = await approvals.ask(asked, true);
    const message = `${asked.tool} waits for a person: agenthub approve ${id}`;
    call.responseStream.send(encodeCall(undefined, waitingMethod, { message }));
    await whileCancellable(call, signal => approvals.wait(id, signal, approvals.agentWaitMs));
    throwIfCancelled(call);
    return await approvals.admit(asked);
  }

  /** Continues an approved call with the next step. */
  async function proceed(resolved: ResolvedCall, asked: AskedCall, next: Answerer): Promise<Reply> {
    throwIfCancelled(resolved.call);
    const reply = await next({ ...resolved, approvedEntry: asked.entry });
    if (isStateless(resolved.call)) continued.note(asked, reply);
    return reply;
  }

  return async (resolved: ResolvedCall, next: Answerer): Promise<Reply> => {
    const { call, server } = resolved;
    // A call that would be refused after its approval is refused now.
    if (server?.held) refuseHeld(resolved, server);
    const asked = askedCall(resolved);
    const id = isStateless(call) ? states.read(call, asked) : undefined;
    if (id === undefined && isStateless(call) && continued.take(call, asked))
      return await proceed(resolved, asked, next);
    if (id !== undefined) await applyAnswer(call, id, asked);
    let outcome = await approvals.admit(asked);
    throwIfCancelled(call);
    if (!outcome && call.principal.kind === 'agent') outcome = await waitForOwner(call, asked);
    else if (!outcome && canAsk(call)) {
      if (isStateless(call)) return askByResult(call, await approvals.ask(asked, false));
      outcome = await askSession(call, asked);
    }
    if (outcome === 'denied') throw deniedBy(asked, 'the owner of the hub denied it');
    if (!outcome) throw needed(asked, await approvals.ask(asked, true));
    return await proceed(id === undefined ? resolved : withoutAnswer(resolved), asked, next);
  };

  function askByResult(call: Call, approval: Approval): Reply {
    const params = { mode: 'form', ...questionAbout(approval) };
    const result = {
      resultType: 'input_required',
      inputRequests: { [inputKey]: { method, params } },
      requestState: states.issue(approval),
    };
    return hubReply(encodeResult(call.id, JSON.stringify(result)));
  }
}

/** Describes the call as its server will get it, after all edits of its arguments. */
function askedCall(resolved: ResolvedCall): AskedCall {
  const { call, server, confirmed } = resolved;
  if (!confirmed || !server) throw new TypeError('a call that has to be confirmed was expected');
  const { principal } = call;
  const { decision, item } = confirmed;
  const args = finalArguments(resolved);
  return {
    caller: principalKey(principal),
    client: policyNameOf(principal),
    server: server.config.name,
    entry: entryDigestFor(server.config),
    // People see this name, also on terminals: control characters are replaced.
    tool: visible(item.name),
    ownTool: item.ownName,
    hash: hashOf(args),
    args,
    rule: decision.rule,
    reason: decision.reason,
  };
}

/** Removes the answer to the hub's question from a call. Blanks the bytes, so that all spans stay valid. */
function withoutAnswer(resolved: ResolvedCall): ResolvedCall {
  const { call } = resolved;
  const { request, params } = call;
  if (!request.params) return resolved;
  const bytes = Buffer.from(request.bytes);
  for (const { span } of dropMembers(bytes, request.params, params, answerMembers))
    bytes.fill(0x20, span.start, span.end);
  const left = new Map([...params].filter(([name]) => !answerMembers.has(name)));
  return { ...resolved, call: { ...call, request: { ...request, bytes }, params: left } };
}

const canAsk = (call: Call): boolean =>
  takesForms(
    isStateless(call)
      ? valueOf(call.request.bytes, call.meta?.get(metaKeys.clientCapabilities))
      : capabilitiesOf(call.session),
  );

/** Reads the answer of a client with a session; undefined if the client does not support the question. */
function inSession({ bytes, payload, failed }: Answer): ElicitationAnswer | undefined {
  const value = valueOf(bytes, payload);
  if (!failed) return answerIn(value) ?? { action: 'cancel', content: {} };
  const code = valueOf(bytes, membersOf(bytes, payload)?.get('code'));
  if (code === rpcCodes.methodNotFound) return undefined;
  throw new HubError('HUB_CLIENT_GONE', 'the client did not answer the question about this call');
}

function questionAbout({ client, tool, shown, reason }: Approval) {
  const why = reason === undefined ? '' : ` (${reason})`;
  return {
    message: `Let ${client} call ${tool} once${why}? Its arguments: ${shown}`,
    requestedSchema: { type: 'object', properties: {} },
  };
}

const deniedBy = ({ tool, rule }: AskedCall, why: string) =>
  new HubError('HUB_APPROVAL_DENIED', `${tool} was not called: ${why}`, { data: { rule } });

function needed({ tool, rule, reason }: AskedCall, { id, state }: Approval): HubError {
  const why = reason === undefined ? '' : ` (${reason})`;
  const expiresAt = 'expiresAt' in state ? new Date(state.expiresAt).toISOString() : undefined;
  return new HubError(
    'HUB_APPROVAL_NEEDED',
    `a person has to approve this call of ${tool}${why}. Ask the owner of the hub to run "agenthub approve ${id}" or to approve it on the dashboard, and then send the same call again. It waits until ${expiresAt}`,
    { data: { approval: id, rule, expiresAt } },
  );
}
