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
 * What hubs ask the client, one hub after the other. Each counts its requests from one: the client gets
 * them under ids of their own, so that a late answer reaches no hub that has asked something else.
 */
export interface Asked {
  /** A request of the hub, as the client gets it. */
  ask(request: Request): Buffer;
  /** A notification of the hub, as the client gets it: it may withdraw a request. */
  tell(notification: Notification): Buffer;
  /** An answer of the client, as the hub gets it; undefined where no hub waits for it. */
  answer(answer: Answer): Buffer | undefined;
  /** The hub is another from here on. Gives the ids, as JSON text, of what need not be answered any more. */
  nextHub(): readonly string[];
}

/** A hub has fewer open questions to one client than this at a time; older ones are forgotten. */
const maxAsked = 1_000;

export function createAsked(): Asked {
  /** The hub's ids by those that the client knows. */
  const open = new Map<string, string>();
  let hubs = 0;
  const idOf = (hubId: string) => (hubs === 0 ? hubId : JSON.stringify(`${hubs}/${hubId}`));

  function renamed(bytes: Buffer, span: Span): Edit {
    return { span, text: idOf(rawText(bytes, span)) };
  }

  return {
    ask({ bytes, id }) {
      if (open.size >= maxAsked) open.delete([...open.keys()][0] ?? '');
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
