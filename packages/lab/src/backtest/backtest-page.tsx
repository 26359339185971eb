/** Backtest: a log is dropped here, limits are moved, and the page shows whom they would have hit. The log never leaves the browser. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Rate, tokenBucket } from 'sluice';
import { BurstChart } from './burst-chart.tsx';
import { CourseChart } from './course-chart.tsx';
import { LogChooser } from './log-chooser.tsx';
import { LogFacts } from './log-facts.tsx';
import { type PolicyChoice, PolicyFields, usualChoice } from './policy-fields.tsx';
import { useLog } from './use-log.ts';
import { Verdict } from './verdict.tsx';

const { algorithm: BUCKET } = tokenBucket({ capacity: 1, refillRate: 1 });

export function BacktestPage(): JSX.Element {
  const used = useLog();
  const { log, report, progress, problem, answeredIn } = used;
  const [choice, setChoice] = useState<PolicyChoice>(() => usualChoice(BUCKET, { capacity: 20 }));
  useEffect(() => {
    if (log !== undefined) used.decide({ algorithm: choice.algorithm, ...choice.values });
  }, [log, choice]);
  return (
    <div class="backtest">
      <header>
        <h1>Whom would a limit have hit?</h1>
        <p class="lede">
          Drop an access log, move the limit, and see. The log is read in your browser and never leaves it.
        </p>
      </header>
      <LogChooser onOpen={used.open} />
      {progress !== undefined && (
        <p class="backtest-progress">
          <progress value={progress.share} max={1} aria-label="Reading the log" />
          <span class="numeric">{progress.lines.toLocaleString('en-US')} lines</span>
        </p>
      )}
      {problem !== undefined && (
        <p class="alert" role="alert">
          This could not be read: {problem}
        </p>
      )}
      {log !== undefined && (
        <>
          <LogFacts log={log} />
          <PolicyFields choice={choice} onChange={setChoice} />
          {report !== undefined && (
            <section aria-label="What it would have done" data-answered-in={answeredIn}>
              <Verdict report={report} log={log}>
                <CourseChart {...log.traffic.course} allowed={report.course} />
              </Verdict>
            </section>
          )}
          <section aria-label="Burst curve of the log">
            <h2>Burst curve</h2>
            <BurstChart
              curve={log.curve}
              onChoose={(rate, capacity) => {
                const { refillRate } = tokenBucket({ capacity, refillRate: rate as Rate });
                setChoice({ algorithm: BUCKET, values: { capacity, refillRate } });
              }}
            />
          </section>
        </>
      )}
    </div>
  );
}
