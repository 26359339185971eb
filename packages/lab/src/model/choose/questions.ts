/** What the chooser asks. No question has to be answered: each answer makes the recommendation fit better. One that no longer matters is not asked. */

export type QuestionId = 'protects' | 'bursts' | 'exactness' | 'clients' | 'servers';
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

const denies = ({ protects }: Answers): boolean => protects !== 'backend';

export const QUESTIONS: readonly Question[] = [
  {
    id: 'protects',
    text: 'What should happen to requests above the limit?',
    options: [
      { value: 'quota', label: 'Deny them', note: 'They get a 429 that says when to retry.' },
      { value: 'backend', label: 'Let them wait', note: 'A slow backend or partner gets them one at a time.' },
    ],
    matters: () => true,
  },
  {
    id: 'bursts',
    text: 'May a client send many requests at the same moment?',
    options: [
      { value: 'yes', label: 'Yes, after a pause', note: 'Pages load, jobs start: the average counts.' },
      { value: 'no', label: 'Only up to the limit', note: 'So many per minute, as a contract would say it.' },
    ],
    matters: denies,
  },
  {
    id: 'exactness',
    text: 'How exact does the count have to be?',
    options: [
      { value: 'close', label: 'Close', note: 'A small error for a small state. Right for most.' },
      { value: 'exact', label: 'Exact', note: 'Billing, audits, logins: in any window, wherever it begins.' },
      { value: 'calendar', label: 'By the calendar', note: '10,000 a day, and everybody starts again at midnight.' },
    ],
    matters: (answers) => denies(answers) && answers.bursts !== 'yes',
  },
  {
    id: 'clients',
    text: 'How many clients are there?',
    options: [
      { value: 'some', label: 'Thousands', note: 'A kilobyte for each is nothing.' },
      { value: 'many', label: 'Millions', note: 'Every byte counts.' },
    ],
    matters: (answers) => denies(answers) && (answers.bursts === 'yes' || answers.exactness === 'exact'),
  },
  {
    id: 'servers',
    text: 'How many servers enforce it?',
    options: [
      { value: 'one', label: 'One process', note: 'The state is kept in its memory. Nothing else to run.' },
      { value: 'many', label: 'Several', note: 'They share one limit, exactly, on Redis or Valkey.' },
    ],
    matters: () => true,
  },
];

/** Those that matter, whether they were answered or not. */
export function askedQuestions(answers: Answers): readonly Question[] {
  return QUESTIONS.filter((question) => question.matters(answers));
}

/** With an answer changed, or taken back; what depended on it and does not matter any more is forgotten. */
export function withAnswer(answers: Answers, id: QuestionId, value: string | undefined): Answers {
  return known({ ...answers, [id]: value });
}

/** Only what matters, and is one of the options. */
export function known(answers: Readonly<Record<string, string | undefined>>): Answers {
  let kept: Answers = {};
  for (const { id, options, matters } of QUESTIONS) {
    const value = answers[id];
    if (matters(kept) && options.some((option) => option.value === value)) kept = { ...kept, [id]: value };
  }
  return kept;
}
