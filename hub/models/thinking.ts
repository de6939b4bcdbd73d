const opening = /^\s*<think(?:ing)?>/i;
const closing = /<\/think(?:ing)?>/i;
/** Matches an incomplete opening tag, such as `<thi`. */
const beginning = /^\s*(?:<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?$/i;
/** Length of the longest incomplete closing tag, in characters. A piece may end with one. */
const overlap = '</thinking>'.length - 1;

/**
 * Separates the thoughts from the text of a streamed answer. Thoughts are in tags at the start. Tags after the start
 * belong to the text: a prompt may be about them.
 */
export function createThoughtFilter() {
  let state: 'undecided' | 'thought' | 'text' = 'undecided';
  let buffer = '';
  let text = '';
  let hasThoughts = false;

  function emitText(piece: string): string {
    state = 'text';
    buffer = '';
    text += piece;
    return piece;
  }

  /** Adds a piece of the answer. Returns its text without thoughts, as far as they can be recognized yet. */
  function push(piece: string): string {
    if (state === 'text') return emitText(piece);
    buffer += piece;
    for (;;) {
      if (state === 'thought') {
        const found = closing.exec(buffer);
        if (!found) {
          buffer = buffer.slice(-overlap);
          return '';
        }
        state = 'undecided';
        buffer = buffer.slice(found.index + found[0].length);
      }
      // Models may write line breaks without end, which must not be searched again for each piece.
      buffer = buffer.trimStart();
      const opened = opening.exec(buffer);
      if (!opened) return beginning.test(buffer) ? '' : emitText(buffer);
      hasThoughts = true;
      state = 'thought';
      buffer = buffer.slice(opened[0].length);
    }
  }

  return {
    push,
    /** Ends the answer. Returns the trimmed text, and whether the answer had thoughts. */
    end(): { readonly text: string; readonly hasThoughts: boolean } {
      const whole = state === 'undecided' ? text + buffer : text;
      // The templates of some models open the thoughts in the prompt, so that the answer has only the closing tag.
      const found = hasThoughts ? null : closing.exec(whole);
      if (!found || opening.test(whole)) return { text: whole.trim(), hasThoughts };
      return isAfterOpening(whole, found.index)
        ? { text: whole.trim(), hasThoughts }
        : { text: whole.slice(found.index + found[0].length).trim(), hasThoughts: true };
    },
  };
}

/** True if an opening tag precedes the closing tag: both are then part of the text. */
const isAfterOpening = (text: string, index: number) =>
  /<think(?:ing)?>/i.test(text.slice(0, index));
