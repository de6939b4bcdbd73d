import {
  type Answer,
  type Edit,
  type Notification,
  type Request,
  type Span,
  membersOf,
  rawText,
  splice,
} from '#jsonrpc';

/**
 * Requests that successive hubs send to the client. Each hub counts its requests from one, so the client gets them
 * under ids that are unique across hubs. A late answer then never reaches a hub that asked something else.
 */
export interface ForwardedRequests {
  /** Returns a hub's request with the id that the client sees. */
  ask(request: Request): Buffer;
  /** Returns a hub's notification for the client. A cancellation gets the request id that the client sees. */
  tell(notification: Notification): Buffer;
  /** Returns a client's answer with the hub's id; undefined if no hub waits for the answer. */
  answer(answer: Answer): Buffer | undefined;
  /** Switches to the next hub. Returns the ids, as JSON text, of requests that no longer need an answer. */
  nextHub(): readonly string[];
}

/** Maximum number of open questions from a hub to one client. Above it, the oldest is forgotten. */
const maxOpen = 1_000;

export function createForwardedRequests(): ForwardedRequests {
  /** The hub's ids by the ids that the client sees. */
  const open = new Map<string, string>();
  let hubs = 0;
  const idOf = (hubId: string) => (hubs === 0 ? hubId : JSON.stringify(`${hubs}/${hubId}`));

  function renamed(bytes: Buffer, span: Span): Edit {
    return { span, text: idOf(rawText(bytes, span)) };
  }

  return {
    ask({ bytes, id }) {
      if (open.size >= maxOpen) open.delete([...open.keys()][0] ?? '');
      const edit = renamed(bytes, id);
      open.set(edit.text, rawText(bytes, id));
      return splice(bytes, [edit]);
    },
    tell({ method, bytes, params }) {
      if (method !== 'notifications/cancelled') return bytes;
      const span = membersOf(bytes, params)?.get('requestId');
      if (!span) return bytes;
      const edit = renamed(bytes, span);
      open.delete(edit.text);
      return splice(bytes, [edit]);
    },
    answer({ bytes, id }) {
      const hubId = id && open.get(rawText(bytes, id));
      if (!id || hubId === undefined) return undefined;
      open.delete(rawText(bytes, id));
      return splice(bytes, [{ span: id, text: hubId }]);
    },
    nextHub() {
      const ids = [...open.keys()];
      open.clear();
      hubs++;
      return ids;
    },
  };
}
