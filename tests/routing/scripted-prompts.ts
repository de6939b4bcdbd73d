import { createEmitter } from '#core';
import type { ImprovedPrompt, NamedByRules, PromptSource, PromptStep } from '#routing';

type Asked = { readonly prompt: string; readonly client: string | undefined };

type Script = {
  readonly named?: NamedByRules;
  /** Improves a prompt. Default: `better: ` followed by the prompt. */
  readonly make?: (
    asked: Asked,
    signal: AbortSignal,
    tell: (step: PromptStep) => void,
  ) => Promise<Partial<ImprovedPrompt>>;
};

/** Creates a source of improved prompts that follows a script and records its requests. */
export function createScriptedPrompts({ named, make }: Script = {}) {
  const { event: changed, fire } = createEmitter<void>();
  const asked: Asked[] = [];
  let isOffered = true;
  const source: PromptSource = {
    get isOffered() {
      return isOffered;
    },
    changed,
    get named() {
      return isOffered ? named : undefined;
    },
    async enhance(request, signal, tell = () => {}) {
      asked.push(request);
      const made = (await make?.(request, signal, tell)) ?? { prompt: `better: ${request.prompt}` };
      const { client = 'default' } = request;
      const whole = { enhanced: true, source: 'model', model: 'llama3.2:3b', client, tookMs: 1 };
      return { prompt: request.prompt, rule: 'default', ...whole, ...made };
    },
  };
  return {
    source,
    asked,
    /** Changes whether prompts can be improved. */
    offer: (is: boolean): void => {
      isOffered = is;
      fire();
    },
  };
}

/**
 * Creates work that ends only when its signal aborts; `begun` resolves when it has begun, and `isEnded` tells its end.
 */
export function createHeldWork() {
  const begun = Promise.withResolvers<void>();
  let isEnded = false;
  return {
    begun: begun.promise,
    isEnded: () => isEnded,
    make: async (_asked: unknown, signal: AbortSignal): Promise<never> => {
      begun.resolve();
      return await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          isEnded = true;
          reject(new Error('given up'));
        });
      });
    },
  };
}
