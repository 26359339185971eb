/** What the chooser asks. A question that no longer matters, after what was answered before it, is not asked. */
export type QuestionId = 'behind' | 'bursts' | 'exactness' | 'memory' | 'servers';
export type Answers = Readonly<Partial<Record<QuestionId, string>>>;

export interface Option {
  readonly value: string;
  readonly label: string;
  readonly note: string;
}

export interface Question {
  readonly id: QuestionId;
  readonly text: string;
  readonly options: readonly Option[];
  matters(answers: Answers): boolean;
}

export const QUESTIONS: readonly Question[] = [
  {
    id: 'behind',
    text: 'Is what lies behind fragile?',
    options: [
      { value: 'sturdy', label: 'No, it copes', note: 'What is too much is refused, with the time to come back.' },
      { value: 'fragile', label: 'Yes, smooth it', note: 'What is too much waits for its turn, at a steady pace.' },
    ],
    matters: () => true,
  },
  {
    id: 'bursts',
    text: 'Are bursts welcome?',
    options: [
      {
        value: 'welcome',
        label: 'Yes, after a pause',
        note: 'People click, pages load, jobs start: the average counts.',
      },
      {
        value: 'unwelcome',
        label: 'No, so many and no more',
        note: 'A number in a span of time, as a contract would say it.',
      },
    ],
    matters: ({ behind }) => behind === 'sturdy',
  },
  {
    id: 'exactness',
    text: 'How exact must the count be?',
    options: [
      { value: 'close', label: 'Close', note: 'A small error for a small state. Right for most.' },
      { value: 'exact', label: 'To the request', note: 'Billing, audits, abuse: in any window, however it lies.' },
      { value: 'calendar', label: 'By the calendar', note: '“10,000 a day”, and everybody starts again at midnight.' },
    ],
    matters: ({ behind, bursts }) => behind === 'sturdy' && bursts === 'unwelcome',
  },
  {
    id: 'memory',
    text: 'How many clients are there?',
    options: [
      { value: 'some', label: 'Thousands', note: 'A kilobyte each is nothing.' },
      { value: 'many', label: 'Millions', note: 'Every byte counts.' },
    ],
    matters: ({ behind, bursts, exactness }) =>
      behind === 'sturdy' && (bursts === 'welcome' || (bursts === 'unwelcome' && exactness === 'exact')),
  },
  {
    id: 'servers',
    text: 'One server or many?',
    options: [
      { value: 'one', label: 'One process', note: 'The state lives in it: no network, no dependency.' },
      { value: 'many', label: 'Many', note: 'They share one limit, exactly, on Redis or Valkey.' },
    ],
    matters: () => true,
  },
];

/** Those to show: each that was answered, and the first that was not. */
export function askedQuestions(answers: Answers): readonly Question[] {
  const mattering = QUESTIONS.filter((question) => question.matters(answers));
  const open = mattering.findIndex(({ id }) => answers[id] === undefined);
  return open < 0 ? mattering : mattering.slice(0, open + 1);
}

/** With an answer changed; what depended on it and does not matter any more is forgotten. */
export function withAnswer(answers: Answers, id: QuestionId, value: string): Answers {
  const changed = { ...answers, [id]: value };
  return Object.fromEntries(
    QUESTIONS.filter((question) => question.matters(changed) && changed[question.id] !== undefined).map((question) => [
      ...[question.id, changed[question.id]],
    ]),
  );
}

export function isComplete(answers: Answers): boolean {
  return QUESTIONS.every(({ id, matters }) => !matters(answers) || answers[id] !== undefined);
}
