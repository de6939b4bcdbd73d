/** The other end of a channel under test, in whatever transport it lives. */
type Obedient = {
  /** Sends a line or an event. */
  say(text: string): void;
  /** Ends the connection from its side. */
  die(): void;
  /** Reads no more. */
  deafen(): void;
  /** How many chunks its input came in. */
  reads(): number;
};

type Command = {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly texts?: readonly string[]; readonly bytes?: number };
};

/**
 * Does what a message says, and gives the answer where it is a request: `echo` answers its params,
 * `reads` with the chunks read, `fill` with so many bytes; `say` sends texts as they are.
 */
export function obey(text: string, self: Obedient): string | undefined {
  const command: Command = JSON.parse(text);
  const answer = (result: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: command.id, result: { ...result } });
  switch (command.method) {
    case 'initialize':
      return answer({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} });
    case 'echo':
      return answer(command.params);
    case 'reads':
      return answer({ reads: self.reads() });
    case 'fill':
      return answer({ text: 'x'.repeat(command.params.bytes ?? 0) });
    case 'say':
      for (const said of command.params.texts ?? []) self.say(said);
      return undefined;
    case 'die':
      self.die();
      return undefined;
    case 'deafen':
      self.deafen();
      return undefined;
    default:
      return undefined;
  }
}
