/** The other end of a channel under test, on any transport. */
type Obedient = {
  /** Sends a raw line or event. */
  say(text: string): void;
  /** Closes the connection from its side. */
  die(): void;
  /** Stops reading. */
  deafen(): void;
  /** Returns the number of chunks in which input has arrived. */
  reads(): number;
};

type Command = {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly texts?: readonly string[]; readonly bytes?: number };
};

/**
 * Performs the command in a message, and returns the answer if it is a request: `echo` answers with its params, `reads`
 * with the number of chunks read, `fill` with a number of bytes; `say` sends raw texts.
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
