%% What Erlang/OTP offers for the same work. An exit signal takes effect in each process when that runs, so there is
%% no figure for stop_gate_1m.
%%
%%   erl -noshell -pa FOLDER +P 2000000 +S THREADS:THREADS -run erlang_processes main WHAT...
%%
%%   tree AGENTS       settle_1m, idle_bytes and create: a tree of linked processes, which hibernate
%%   send VARIANT      send: from a process to another one
%%   fan AGENTS        send_fan
-module(erlang_processes).
-export([main/1, wait/0]).

-define(MESSAGES, 2_000_000).
-define(WINDOW, 1_000).

main(["tree", Agents]) -> tree(list_to_integer(Agents)), halt(0);
main(["send", Variant]) -> send(Variant), halt(0);
main(["fan", Agents]) -> fan(list_to_integer(Agents)), halt(0).

%% --- a tree ---------------------------------------------------------------------------------------------------

tree(Count) ->
    Processes = process_count(),
    Memory = resident(),
    Self = self(),
    {Created, Root} = timed(fun() ->
        Agent = spawn(fun() -> agent(0, Count, Self) end),
        ready(),
        Agent
    end),
    Count = process_count() - Processes,
    Grown = resident() - Memory,
    {Settled, ok} = timed(fun() ->
        exit(Root, shutdown),
        yield_until(fun() -> process_count() =< Processes end)
    end),
    Peer = "Erlang linked processes",
    report("settle_1m", ["tree of 8, ", integer_to_list(Count)], Settled / Count, "ns/agent", Peer),
    report("idle_bytes", integer_to_list(Count), Grown / Count, "bytes", Peer),
    report("create", integer_to_list(Count), Created / Count, "ns", Peer).

%% The process at place I of a tree with eight children each. As a supervisor does, it waits for each child before
%% it starts the next one, so that few processes have a heap at a time.
agent(I, Count, Parent) ->
    Self = self(),
    [begin
         spawn_link(fun() -> agent(Child, Count, Self) end),
         ready()
     end || Child <- children(I, Count)],
    Parent ! ready,
    erlang:hibernate(?MODULE, wait, []).

children(I, Count) when 8 * I + 1 >= Count -> [];
children(I, Count) -> lists:seq(8 * I + 1, min(8 * I + 8, Count - 1)).

ready() -> receive ready -> ok end.

wait() -> receive _ -> wait() end.

process_count() -> erlang:system_info(process_count).

%% --- messages -------------------------------------------------------------------------------------------------

%% A mailbox of Erlang has no limit. The sender asks after each window of messages whether that was handled, and has
%% two windows under way.
send(Variant) ->
    Self = self(),
    {Elapsed, Bytes} = timed(fun() ->
        Receiver = spawn(fun() -> handle(0) end),
        spawn(fun() -> Self ! {handled, send_windows(Receiver)} end),
        handled()
    end),
    Bytes = ?MESSAGES,
    report("send", Variant, Elapsed / ?MESSAGES, "ns", "Erlang process").

send_windows(Receiver) ->
    send_window(Receiver, ?WINDOW),
    [begin
         send_window(Receiver, ?WINDOW),
         handled()
     end || _ <- lists:seq(2, ?MESSAGES div ?WINDOW)],
    handled().

send_window(Receiver, 0) -> Receiver ! {question, self()};
send_window(Receiver, Left) ->
    Receiver ! {message, Left, <<"x">>},
    send_window(Receiver, Left - 1).

handled() -> receive {handled, Bytes} -> Bytes end.

handle(Bytes) ->
    receive
        {message, _, Text} -> handle(Bytes + byte_size(Text));
        {question, From} -> From ! {handled, Bytes}, handle(Bytes)
    end.

fan(Count) ->
    Handled = counters:new(1, [atomics]),
    Receivers = [spawn(fun() -> count(Handled) end) || _ <- lists:seq(1, Count)],
    Rounds = [fan_round(Receivers, Handled, Count * Round) || Round <- [1, 2, 3, 4]],
    Median = lists:nth(2, lists:sort(tl(Rounds))),  % the first is a warm-up
    report("send_fan", integer_to_list(Count), Median / Count, "ns", "Erlang processes").

fan_round(Receivers, Handled, Expected) ->
    {Elapsed, ok} = timed(fun() ->
        [Receiver ! {message, Expected, <<"x">>} || Receiver <- Receivers],
        yield_until(fun() -> counters:get(Handled, 1) >= Expected end)
    end),
    Expected = counters:get(Handled, 1),
    Elapsed.

count(Handled) ->
    receive
        {message, _, Text} ->
            counters:add(Handled, 1, byte_size(Text)),
            count(Handled)
    end.

%% --- clocks, memory, figures ----------------------------------------------------------------------------------

%% Nanoseconds, and the function's result.
timed(Function) ->
    Begin = erlang:monotonic_time(nanosecond),
    Result = Function(),
    {erlang:monotonic_time(nanosecond) - Begin, Result}.

yield_until(Done) ->
    case Done() of
        true -> ok;
        false -> erlang:yield(), yield_until(Done)
    end.

%% Resident memory of the emulator, bytes.
resident() ->
    {ok, Statm} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:split(Statm, " ", all),
    binary_to_integer(Pages) * 4096.

report(Id, Variant, Value, Unit, Peer) ->
    io:format("{\"id\": \"~s\", \"variant\": \"~s\", \"value\": ~.4f, \"unit\": \"~s\", \"peer\": \"~s\"}~n",
              [Id, Variant, Value, Unit, Peer]).
