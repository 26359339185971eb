import { createLimiter, fixedWindow, memoryStore } from 'sluice';

const store = memoryStore(); // redisStore(client) for several processes

// Nobody gets more than 3 mails an hour, whoever asks; one address asks for 10 at most.
const mails = createLimiter({ policy: fixedWindow({ name: 'mail', limit: 3, window: '1h' }), store });
const askers = createLimiter({ policy: fixedWindow({ name: 'asker', limit: 10, window: '1h' }), store });

const sent: string[] = [];

/** The answer is always the same: it must not tell whether there is such an account. */
async function askForReset(email: string, address: string): Promise<string> {
  const asker = await askers.attempt(`ip:${address}`);
  const mail = asker.allowed ? await mails.attempt(`email:${email.toLowerCase()}`) : asker;
  if (mail.allowed) sent.push(email);
  return 'If there is an account, a mail is on its way.';
}

for (let time = 0; time < 5; time++) await askForReset('ada@example.org', '203.0.113.7');
console.log(`${sent.length} mails to one person`);
for (let person = 0; person < 20; person++) await askForReset(`user${person}@example.org`, '203.0.113.7');
console.log(`${sent.length} mails in all, asked for by one address`);
