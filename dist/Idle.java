/** A program that does nothing, to be attached to. */
public class Idle {
    public static void main(String[] arguments) throws InterruptedException {
        Thread.sleep(600_000);
    }
}
