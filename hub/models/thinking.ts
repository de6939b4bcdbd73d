/** Takes apart what a model answers as it comes in: thoughts in tags at its head, and the text after them. */
export interface ThoughtFilter {
  /** What of the text this piece brings, without thoughts as far as can be told by now. */
  push(piece: string): string;
  /** The whole: the text without white space around it, and whether there were thoughts. */
  end(): { readonly text: string; readonly hasThoughts: boolean };
}

const opening = /^\s*<think(?:ing)?>/i;
const closing = /<\/think(?:ing)?>/i;
/** What may still become an opening tag. */
const beginning = /^\s*(?:<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?$/i;
/** The longest closing tag, less one: so much of a thought may be the beginning of one. */
const overlap = '</thinking>'.length - 1;

/** Nothing has come in. Tags further on belong to the text: a prompt may be about them. */
export function createThoughtFilter(): ThoughtFilter {
  let state: 'undecided' | 'thought' | 'text' = 'undecided';
  let held = '';
  let text = '';
  let hasThoughts = false;

  function show(piece: string): string {
    state = 'text';
    held = '';
    text += piece;
    return piece;
  }

  function push(piece: string): string {
    if (state === 'text') return show(piece);
    held += piece;
    if (state === 'thought') {
      const found = closing.exec(held);
      if (!found) {
        held = held.slice(-overlap);
        return '';
      }
      state = 'undecided';
      held = held.slice(found.index + found[0].length);
    }
    const opened = opening.exec(held);
    if (opened) {
      hasThoughts = true;
      state = 'thought';
      const rest = held.slice(opened[0].length);
      held = '';
      return push(rest);
    }
    return beginning.test(held) ? '' : show(held);
  }

  return {
    push,
    end() {
      const whole = state === 'undecided' ? text + held : text;
      // The templates of some models open the thought in the prompt, so that only its end is answered.
      const found = hasThoughts ? null : closing.exec(whole);
      if (!found || opening.test(whole)) return { text: whole.trim(), hasThoughts };
      return isAfterOpening(whole, found.index)
        ? { text: whole.trim(), hasThoughts }
        : { text: whole.slice(found.index + found[0].length).trim(), hasThoughts: true };
    },
  };
}

/** A closing tag after an opening one in the middle of the text is part of the text. */
const isAfterOpening = (text: string, index: number) =>
  /<think(?:ing)?>/i.test(text.slice(0, index));
