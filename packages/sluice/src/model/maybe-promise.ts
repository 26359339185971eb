/** Answers that may have come already. Everything that waits for an answer goes through here, so that nothing is deferred without need. */

/** A value, or a promise of it: a store in memory answers synchronously, others later. */
export type MaybePromise<T> = T | Promise<T>;

/** By its method and not by its class: a store may bring promises of another kind. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

/** Goes on with an answer: now if it is there, later if it is a promise. An error goes to `onError` only from the answer itself. */
export function proceed<T, Next>(
  answer: MaybePromise<T>,
  onValue: (value: T) => MaybePromise<Next>,
  onError?: (error: unknown) => MaybePromise<Next>,
): MaybePromise<Next> {
  return isPromise(answer) ? answer.then(onValue, onError) : onValue(answer);
}

/**
 * Asks a store, and goes on with its answer or its error: now if it is there, later if it is a promise. Every layer is written with it, so that
 * what answers with a value goes on doing so through all of them.
 */
export function asking<Question, Answer, Next>(
  store: { ask(question: Question): MaybePromise<Answer> },
  question: Question,
  onAnswer: (answer: Answer) => MaybePromise<Next>,
  onError?: (error: unknown) => MaybePromise<Next>,
): MaybePromise<Next> {
  if (onError === undefined) return proceed(store.ask(question), onAnswer);
  let answer: MaybePromise<Answer>;
  try {
    answer = store.ask(question);
  } catch (error) {
    return onError(error);
  }
  return proceed(answer, onAnswer, onError);
}

/** Goes on with an answer and with what else the next step needs, so that no function has to be made for each request. */
export function proceedWith<T, One, Two, Three, Next>(
  answer: MaybePromise<T>,
  onValue: (value: T, one: One, two: Two, three: Three) => MaybePromise<Next>,
  one: One,
  two: Two,
  three: Three,
  onError?: (error: unknown) => MaybePromise<Next>,
): MaybePromise<Next> {
  if (!isPromise(answer)) return onValue(answer, one, two, three);
  return answer.then((value) => onValue(value, one, two, three), onError);
}

/** Does one thing with an answer that is there, and another with one that is to come. */
export function either<T, Result>(
  answer: MaybePromise<T>,
  onValue: (value: T) => Result,
  onPromise: (promise: Promise<T>) => Result,
): Result {
  return isPromise(answer) ? onPromise(answer) : onValue(answer);
}

export function identity<T>(value: T): T {
  return value;
}

function ignore(): void {}

/** Does something that nobody waits for, and whose failure changes nothing. */
export function inBackground<T>(act: () => MaybePromise<T>, onValue: (value: T) => void = ignore): void {
  try {
    either(act(), onValue, (promise) => void promise.then(onValue).catch(ignore));
  } catch {
    // As above.
  }
}

/** All of them: now if all are there. */
export function all<T>(answers: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  return answers.some(isPromise) ? Promise.all(answers) : (answers as T[]);
}
